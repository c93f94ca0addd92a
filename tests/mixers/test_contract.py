"""DESIGN's mixer contract over every YAML in conf/mixer."""

import pytest
import torch

BATCH, LENGTH, WIDTH = 2, 67, 16
TOLERANCE = {"rtol": 0, "atol": 1e-10}


def whole(mixer, x, state):
    return mixer(x, state)


def cut_at(*cuts):
    def run(mixer, x, state):
        outputs = []
        for piece in x.tensor_split(cuts, dim=1):
            y, state = mixer(piece, state)
            outputs.append(y)
        return torch.cat(outputs, dim=1), state

    return run


def token_by_token(mixer, x, state):
    outputs = []
    for x_t in x.unbind(1):
        y_t, state = mixer.step(x_t, state)
        outputs.append(y_t)
    return torch.stack(outputs, dim=1), state


def reachable_state(mixer, batch=BATCH):
    """Some state that the mixer could be in, so that it is also a legal one."""
    weight = next(mixer.parameters())
    x = torch.randn(batch, 5, mixer.d_model, dtype=weight.dtype)
    return mixer(x)[1].detach()


def everything(run, mixer, x, state):
    """Outputs, final state, and the gradients of both with respect to inputs, initial state and parameters."""
    x = x.clone().requires_grad_()
    state = state if state is None else state.clone().requires_grad_()
    y, last = run(mixer, x, state)
    numbers = torch.Generator().manual_seed(1)
    loss = sum((part * torch.randn(part.shape, generator=numbers, dtype=part.dtype)).sum() for part in (y, last))
    sources = [x, *mixer.parameters()] if state is None else [x, state, *mixer.parameters()]
    gradients = torch.autograd.grad(loss, sources, materialize_grads=True, allow_unused=True)
    return [y.detach(), last.detach(), *gradients]


@pytest.mark.parametrize("start", ["initial", "carried"])
def test_a_split_sequence_and_single_steps_equal_the_whole(mixer, start):
    x = torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64)
    state = reachable_state(mixer) if start == "carried" else None
    expected = everything(whole, mixer, x, state)
    for run in (cut_at(1), cut_at(7, 63), cut_at(64), cut_at(65, LENGTH - 1), token_by_token):
        for ours, wanted in zip(everything(run, mixer, x, state), expected, strict=True):
            torch.testing.assert_close(ours, wanted, **TOLERANCE)


def test_float32_splits_agree_to_single_precision(build):
    mixer = build(d_model=WIDTH)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    expected, last = mixer(x)
    for run in (cut_at(7, 64), token_by_token):
        y, state = run(mixer, x, None)
        torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(state, last, rtol=1e-5, atol=1e-5)


def test_no_gradient_comes_from_the_future(mixer):
    x = torch.randn(BATCH, 6, WIDTH, dtype=torch.float64, requires_grad=True)
    y, _ = mixer(x)
    # A plain sum is what swaps of entries leave as it is.
    weights = torch.randn(WIDTH, dtype=torch.float64)
    for t in range(6):
        (gradient,) = torch.autograd.grad((y[:, t] * weights).sum(), x, retain_graph=True)
        assert torch.count_nonzero(gradient[:, t + 1 :]) == 0
        assert torch.count_nonzero(gradient[:, t]) > 0


@pytest.mark.parametrize("length", [1, 2, 3, 17, 31])
def test_any_length_gives_the_first_outputs_of_a_longer_sequence(mixer, length):
    x = torch.randn(BATCH, 31, WIDTH, dtype=torch.float64)
    torch.testing.assert_close(mixer(x[:, :length])[0], mixer(x)[0][:, :length], **TOLERANCE)


@pytest.mark.parametrize(
    ("shape", "view"),
    [
        ((5, BATCH, WIDTH), lambda base: base.transpose(0, 1)),
        ((BATCH, WIDTH, 5), lambda base: base.transpose(1, 2)),
        ((BATCH, 10, WIDTH), lambda base: base[:, ::2]),
        ((BATCH, 5, 2 * WIDTH), lambda base: base[..., :WIDTH]),
        ((1, 5, WIDTH), lambda base: base.expand(BATCH, -1, -1)),
        ((BATCH, 1, WIDTH), lambda base: base.expand(-1, 5, -1)),
    ],
    ids=["time first", "channels first", "every second token", "half the channels", "one sequence", "one token"],
)
def test_a_strided_input_is_read_like_a_contiguous_one(mixer, shape, view):
    results = []
    numbers = torch.randn(BATCH, 5, WIDTH, dtype=torch.float64)
    base = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    for x in (view(base), view(base).contiguous()):
        y, last = mixer(x, reachable_strided(mixer))
        (gradient,) = torch.autograd.grad((y * numbers).sum() + last.sum(), base)
        results.append((y, last, gradient))
    for strided, contiguous in zip(*results, strict=True):
        torch.testing.assert_close(strided, contiguous, **TOLERANCE)


def reachable_strided(mixer):
    generator_state = torch.get_rng_state()
    torch.manual_seed(2)
    state = reachable_state(mixer)
    torch.set_rng_state(generator_state)
    return torch.stack([state, state], dim=-1)[..., 0]


def test_no_state_means_the_initial_state(mixer):
    x = torch.randn(BATCH, 5, WIDTH, dtype=torch.float64)
    for run in (whole, token_by_token):
        for ours, wanted in zip(run(mixer, x, None), run(mixer, x, mixer.init_state(BATCH)), strict=True):
            assert torch.equal(ours, wanted)


def test_state_size_counts_what_is_carried(mixer):
    assert mixer.init_state(1).numel() == mixer.state_size
    assert mixer.init_state(3).shape == (3, *mixer.state_shape)
    assert reachable_state(mixer, 3).shape == (3, *mixer.state_shape)


def test_writing_into_a_returned_state_changes_nothing_else(mixer):
    x = torch.randn(BATCH, 5, WIDTH, dtype=torch.float64)
    start = mixer.init_state(BATCH).detach()
    with torch.no_grad():
        for run in (whole, token_by_token):
            before = start.clone()
            y, last = run(mixer, x, start)
            kept = y.clone()
            last.zero_()
            assert torch.equal(y, kept)
            assert torch.equal(start, before)


def test_one_sequence_of_an_initial_state_can_be_reset_without_the_others(mixer):
    state = mixer.init_state(2).detach()
    with torch.no_grad():
        state[0] = 7.0
    assert torch.equal(state[1], mixer.init_state(1)[0])


def test_training_and_evaluation_mode_agree(mixer):
    x = torch.randn(BATCH, 5, WIDTH, dtype=torch.float64)
    assert torch.equal(mixer.train()(x)[0], mixer.eval()(x)[0])


def test_a_loaded_state_dict_gives_the_same_outputs(build, mixer):
    x = torch.randn(BATCH, 5, WIDTH, dtype=torch.float64)
    other = build(d_model=WIDTH).double()
    other.load_state_dict(mixer.state_dict())
    assert torch.equal(other(x)[0], mixer(x)[0])


def test_a_mixer_can_be_built_without_memory(build):
    with torch.device("meta"):
        mixer = build(d_model=64)
    assert all(parameter.is_meta for parameter in mixer.parameters())
    assert [p.shape for p in mixer.parameters()] == [p.shape for p in build(d_model=64).parameters()]
