"""The decay channel of every mixer whose YAML has one: a time gap scales the state that the next token finds."""

import math
import re

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from mingru.mixers.baselines.gru import GRU
from tests.mixers.conftest import FOLDER
from tests.mixers.test_contract import BATCH, LENGTH, TOLERANCE, WIDTH, reachable_state

DECAYING = [path.stem for path in sorted(FOLDER.glob("*.yaml")) if "decay" in OmegaConf.load(path)]
CHANNELS = {"log": 64, "signed": 64, "signed_coupled": 64, "rotation": 32, "rotation_free": 32, "givens": 8, "delta": 4, "delta_64": 1}
CHANNELS |= dict.fromkeys(("reflection", "selection", "selection_row", "selection_bijective"), 8)

every_mixer = pytest.mark.parametrize("stem", DECAYING)


def built(stem, d_model=WIDTH, **settings):
    return instantiate(OmegaConf.load(FOLDER / f"{stem}.yaml"), **settings)(d_model=d_model)


def uneven(*shape):
    """Gaps of which some are none and some are long."""
    gaps = 2 * torch.rand(shape, dtype=torch.float64)
    return torch.where(torch.rand(shape) < 0.2, 0.0, torch.where(torch.rand(shape) < 0.1, 40 * gaps, gaps))


def spread(mixer):
    """Another rate for every channel, as training would give it."""
    with torch.no_grad():
        mixer.decay.rho.copy_(torch.randn(mixer.decay.rho.shape))
    return mixer


def everything(mixer, x, state, gaps, cuts=None):
    """Outputs, final state, and the gradients of both with respect to all there is; in pieces, or with cuts="steps" token by token."""
    x, state = x.clone().requires_grad_(), state.clone().requires_grad_()
    last, outputs = state, []
    if cuts == "steps":
        for x_t, gap in zip(x.unbind(1), gaps.unbind(1), strict=True):
            y_t, last = mixer.step(x_t, last, gap)
            outputs.append(y_t.unsqueeze(1))
    else:
        for piece, gap in zip(x.tensor_split(cuts or (), dim=1), gaps.tensor_split(cuts or (), dim=1), strict=True):
            y, last = mixer(piece, last, gap)
            outputs.append(y)
    y = torch.cat(outputs, dim=1)
    numbers = torch.Generator().manual_seed(1)
    loss = sum((part * torch.randn(part.shape, generator=numbers, dtype=part.dtype)).sum() for part in (y, last))
    return [y, last, *torch.autograd.grad(loss, [x, state, *mixer.parameters()], materialize_grads=True, allow_unused=True)]


def test_every_mixer_of_the_ladder_decays_and_the_gru_does_not():
    assert set(DECAYING) == set(CHANNELS)
    assert {path.stem for path in FOLDER.glob("*.yaml")} - set(DECAYING) == {"gru", "gru_bare"}
    assert GRU(8).decay is None


@every_mixer
@pytest.mark.parametrize("log1p", [False, True])
def test_a_split_sequence_and_single_steps_equal_the_whole(stem, log1p):
    mixer = spread(built(stem, decay="learnable", log1p_delta=log1p).double())
    x, gaps = torch.randn(BATCH, LENGTH, WIDTH, dtype=torch.float64), uneven(BATCH, LENGTH)
    state = reachable_state(built(stem).double())
    expected = everything(mixer, x, state, gaps)
    assert all(torch.count_nonzero(gradient) for gradient in expected[2:4])
    for cuts in ((1,), (7, 63, 64), "steps"):
        for ours, wanted in zip(everything(mixer, x, state, gaps, cuts), expected, strict=True):
            torch.testing.assert_close(ours, wanted, **TOLERANCE)


@every_mixer
@pytest.mark.parametrize("log1p", [False, True])
def test_each_token_finds_the_state_times_exp_of_minus_rate_times_gap(stem, log1p):
    """Token by token on the mixer without decay, its state scaled by hand in between; values and the gradient of the rates."""
    torch.manual_seed(5)
    plain = built(stem).double()
    mixer = spread(built(stem, decay="learnable", log1p_delta=log1p).double())
    mixer.load_state_dict({**mixer.state_dict(), **plain.state_dict()})
    x, gaps = torch.randn(BATCH, 9, WIDTH, dtype=torch.float64), uneven(BATCH, 9)
    rho = mixer.decay.rho.detach().clone().requires_grad_()
    state, outputs = plain.init_state(BATCH), []
    for x_t, gap in zip(x.unbind(1), gaps.unbind(1), strict=True):
        time = (1 + gap).log() if log1p else gap
        kept = (-time[:, None] * (1 + rho.exp()).log()).exp()
        y_t, state = plain.step(x_t, state * kept.reshape(*kept.shape, *[1] * (state.dim() - 2)))
        outputs.append(y_t)
    expected, y = torch.stack(outputs, 1), mixer(x, None, gaps)[0]
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    weights = torch.randn_like(y)
    torch.testing.assert_close(
        torch.autograd.grad((y * weights).sum(), mixer.decay.rho), torch.autograd.grad((expected * weights).sum(), rho), rtol=0, atol=1e-11
    )


@every_mixer
def test_single_steps_of_which_nothing_is_recorded_fade_too(stem):
    """Where a kernel of their own computes them, in float32."""
    mixer = spread(built(stem, decay="learnable"))
    x, gaps = torch.randn(BATCH, 20, WIDTH), uneven(BATCH, 20).float()
    with torch.no_grad():
        y, last = mixer(x, None, gaps)
        state = None
        for t in range(20):
            y_t, state = mixer.step(x[:, t], state, gaps[:, t])
            torch.testing.assert_close(y_t, y[:, t], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(state, last, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(y, mixer(x, None, 2 * gaps)[0], atol=1e-3)


@every_mixer
@pytest.mark.parametrize("kind", ["fixed", "learnable"])
@pytest.mark.parametrize("rate", [1e-6, 0.05, 1.0, 1000.0])
def test_both_kinds_begin_at_the_rate_that_is_asked_for(stem, kind, rate):
    mixer = built(stem, decay=kind, decay_rate=rate).double()
    gap = torch.tensor([0.3 / rate], dtype=torch.float64)
    kept = torch.full((1, mixer.state_shape[0]), math.exp(-0.3), dtype=torch.float64)
    torch.testing.assert_close(mixer.decay(gap), kept, rtol=1e-6, atol=0)
    assert any("rho" in name for name, _ in mixer.named_parameters()) == (kind == "learnable")


@every_mixer
def test_the_rate_is_one_unless_told_and_log1p_makes_it_a_power_of_the_gap(stem):
    gap = torch.tensor([3.0], dtype=torch.float64)
    for log1p, kept in ((False, math.exp(-3)), (True, 1 / 4)):
        decay = built(stem, decay="fixed", log1p_delta=log1p).double().decay
        torch.testing.assert_close(decay(gap), torch.full((1, decay.channels), kept, dtype=torch.float64))


@every_mixer
def test_without_gaps_a_decaying_mixer_is_the_plain_one(stem):
    mixer, plain = (spread(built(stem, decay="learnable").double()), built(stem).double())
    mixer.load_state_dict({**mixer.state_dict(), **plain.state_dict()})
    x = torch.randn(BATCH, 9, WIDTH, dtype=torch.float64)
    for ours, wanted in zip(mixer(x, None, torch.zeros(BATCH, 9)), plain(x), strict=True):
        torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-14)


@every_mixer
def test_after_an_endless_gap_nothing_of_the_past_is_left_and_gradients_are_finite(stem):
    mixer = built(stem, decay="learnable")
    x, gaps = torch.randn(BATCH, 9, WIDTH, requires_grad=True), torch.ones(BATCH, 9)
    gaps[:, 5] = 1e10
    y, _ = mixer(x, None, gaps)
    alone, _ = mixer(x[:, 5:], 3 * reachable_state(built(stem)), gaps[:, 5:])
    torch.testing.assert_close(y[:, 5:], alone)
    y.sum().backward()
    assert all(torch.isfinite(weight.grad).all() for weight in (x, *mixer.parameters()) if weight.grad is not None)


@every_mixer
@pytest.mark.parametrize("kind", ["fixed", "learnable"])
def test_a_seed_gives_the_same_weights_with_and_without_decay(stem, kind):
    torch.manual_seed(7)
    plain = dict(built(stem).named_parameters())
    after = torch.get_rng_state()
    torch.manual_seed(7)
    decaying = dict(built(stem, decay=kind).named_parameters())
    assert torch.equal(torch.get_rng_state(), after)
    assert set(decaying) - set(plain) == ({"decay.rho"} if kind == "learnable" else set())
    assert all(torch.equal(decaying[name], weight) for name, weight in plain.items())


@every_mixer
def test_a_learnable_decay_costs_a_number_for_each_channel_block_or_head(stem):
    plain, decaying = (sum(p.numel() for p in built(stem, 64, decay=kind).parameters()) for kind in (None, "learnable"))
    assert decaying - plain == CHANNELS[stem]


@every_mixer
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_model_decays_in_float32(stem, dtype):
    mixer = built(stem, decay="learnable").to(dtype)
    y, state = mixer(torch.randn(BATCH, 9, WIDTH, dtype=dtype), None, uneven(BATCH, 9))
    assert (y.dtype, state.dtype) == (dtype, torch.float32)
    assert mixer.decay(torch.ones(1)).dtype == torch.float32


@every_mixer
def test_gaps_may_have_a_last_axis_of_one_and_be_whole_numbers(stem):
    mixer, x = built(stem, decay="fixed", decay_rate=0.1), torch.randn(BATCH, 9, WIDTH)
    gaps = torch.randint(0, 20, (BATCH, 9))
    expected = mixer(x, None, gaps.float())[0]
    assert torch.equal(mixer(x, None, gaps.unsqueeze(-1))[0], expected)
    assert torch.equal(mixer(x, None, gaps.T.contiguous().T)[0], expected)
    assert torch.equal(mixer.step(x[:, 0], None, gaps[:, :1])[0], mixer.step(x[:, 0], None, gaps[:, 0])[0])


@every_mixer
def test_impossible_gaps_count_as_none_or_as_very_long_and_are_told_of(stem):
    mixer, x = built(stem, decay="learnable"), torch.randn(1, 4, WIDTH)
    with pytest.warns(UserWarning, match=f"^{stem}: delta_t has gaps that are NaN, infinite or below zero"):
        y, _ = mixer(x, None, torch.tensor([[math.nan, -3.0, math.inf, -math.inf]]))
    assert torch.equal(y, mixer(x, None, torch.tensor([[0.0, 0.0, 1e10, 0.0]]))[0])


@every_mixer
@pytest.mark.parametrize(
    ("gaps", "complaint"),
    [
        (None, "the decay channel wants delta_t, the time gap before each token; got none"),
        (torch.ones(3, 5), "delta_t must have shape (3, 4), got (3, 5)"),
        (torch.ones(1, 4), "delta_t must have shape (3, 4), got (1, 4)"),
        (torch.ones(4), "delta_t must have shape (3, 4), got (4,)"),
        (torch.ones(3, 4, 16), "delta_t must have shape (3, 4), got (3, 4, 16)"),
        (torch.ones(3, 4, device="meta"), "delta_t must be on cpu, got meta"),
    ],
    ids=["none", "another length", "another batch", "no batch axis", "a width", "another device"],
)
def test_wrong_gaps_are_refused_in_one_line(stem, gaps, complaint):
    with pytest.raises(ValueError, match=f"^{stem}: {re.escape(complaint)}$"):
        built(stem, decay="fixed")(torch.zeros(3, 4, WIDTH), None, gaps)


@every_mixer
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"decay": "learned"}, "decay must be fixed, learnable or null, got 'learned'"),
        ({"decay": "fixed", "decay_rate": 0.0}, "decay_rate must be above 0 and finite, got 0.0"),
        ({"decay": "learnable", "decay_rate": -1.0}, "decay_rate must be above 0 and finite, got -1.0"),
        ({"decay": "learnable", "decay_rate": math.inf}, "decay_rate must be above 0 and finite, got inf"),
        ({"decay_rate": 0.1}, "decay_rate=0.1 does nothing without decay; decay is fixed or learnable"),
        ({"log1p_delta": True}, "log1p_delta=true does nothing without decay; decay is fixed or learnable"),
    ],
)
def test_settings_that_make_no_decay_channel_are_refused_in_one_line(stem, settings, complaint):
    with pytest.raises(ValueError, match=f"^{stem}: {re.escape(complaint)}$"):
        built(stem, **settings)
