import pytest
import torch
from torch.nn import functional as F

from mingru.mixers.log import Log, positive


def heads(mixer, x):
    return [F.linear(x, *weights) for weights in zip(mixer.projection.weight.chunk(2), mixer.projection.bias.chunk(2), strict=True)]


def log_space(mixer, x, state):
    """The same mixer as a scan of logarithms (Heinsen 2023, arXiv:2311.06281), as its paper computes it."""
    gate, candidate = heads(mixer, x)
    log_candidate = torch.where(candidate >= 0, (candidate.clamp(min=0) + 0.5).log(), F.logsigmoid(candidate))
    total_decay = F.pad(F.logsigmoid(-gate).cumsum(1), (0, 0, 1, 0))
    log_drive = torch.cat([state.log().unsqueeze(1), F.logsigmoid(gate) + log_candidate], dim=1)
    return (total_decay + (log_drive - total_decay).logcumsumexp(1)).exp()[:, 1:]


def test_it_equals_its_log_space_form_in_values_and_gradients():
    mixer = Log(8).double()
    x = torch.randn(3, 40, 8, dtype=torch.float64, requires_grad=True)
    state = torch.rand(3, 8, dtype=torch.float64, requires_grad=True)
    y, expected = mixer(x, state)[0], log_space(mixer, x, state)
    torch.testing.assert_close(y, expected, rtol=1e-10, atol=1e-10)
    sources = (x, state, *mixer.parameters())
    numbers = torch.randn_like(y)
    ours = torch.autograd.grad((y * numbers).sum(), sources)
    wanted = torch.autograd.grad((expected * numbers).sum(), sources)
    torch.testing.assert_close(ours, wanted, rtol=1e-10, atol=1e-10)


def test_the_candidate_is_positive_and_continuous_with_slope_one_at_zero():
    u = torch.tensor([-1e4, -3.0, -1e-12, 0.0, 2.0, 1e4], dtype=torch.float64, requires_grad=True)
    value = positive(u)
    assert (value >= 0).all()
    torch.testing.assert_close(value[2], value[3])
    (slope,) = torch.autograd.grad(value[3], u)
    # g'/g = 2: the gradient of log g at zero.
    assert slope[3] / value[3] == 2


def test_states_stay_positive_and_below_their_largest_candidate():
    mixer = Log(8)
    y, _ = mixer(10 * torch.randn(4, 50, 8))
    assert (y > 0).all()


@pytest.mark.parametrize("size", [80.0, 1e4])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("start", [None, 0.0])
def test_saturated_gates_and_a_zero_state_have_finite_gradients(size, sign, start):
    mixer = Log(8)
    with torch.no_grad():
        mixer.projection.bias[mixer.projection.rows("gate")] = sign * size
        mixer.projection.bias[mixer.projection.rows("candidate")] *= size
    x = torch.randn(2, 30, 8, requires_grad=True)
    state = None if start is None else torch.full((2, 8), start, requires_grad=True)
    y, last = mixer(x, state)
    (y.sum() + last.sum()).backward()
    assert torch.isfinite(y).all()
    for leaf in (x, *mixer.parameters(), *([] if state is None else [state])):
        assert torch.isfinite(leaf.grad).all()


def test_a_zero_state_that_is_kept_passes_its_gradient_on():
    mixer = Log(8)
    with torch.no_grad():
        mixer.projection.bias[mixer.projection.rows("gate")] = -1e4
    state = torch.zeros(2, 8, requires_grad=True)
    mixer(torch.randn(2, 30, 8), state)[1].sum().backward()
    assert torch.equal(state.grad, torch.ones(2, 8))


def test_a_negative_state_is_refused():
    mixer = Log(8)
    state = mixer.init_state(2)
    state[1, 3] = -0.25
    for call, x in ((mixer, torch.zeros(2, 4, 8)), (mixer.step, torch.zeros(2, 8))):
        with pytest.raises(ValueError, match=r"^log: state must not be negative, got a minimum of -0.25$"):
            call(x, state)


def test_long_sequences_stay_exact_in_float32():
    """The scan of logarithms loses three digits here (HAZARDS: 4e-3 at T = 16384)."""
    mixer = Log(4)
    x = torch.randn(1, 4096, 4)
    y = mixer(x)[0]
    expected = mixer.double()(x.double())[0]
    assert ((y - expected).abs() / expected).max() < 2e-6
