import pytest
import torch
from torch.nn import functional as F

from mingru.mixers.signed import Signed


def by_hand(mixer, x, state):
    weights = zip(mixer.projection.weight.chunk(3), mixer.projection.bias.chunk(3), strict=True)
    gate, candidate, decay = (F.linear(x, *layer) for layer in weights)
    gate, decay = torch.sigmoid(gate), torch.tanh(decay)
    if mixer.coupled:
        decay = (1 - gate) * decay
    outputs = []
    for t in range(x.shape[1]):
        state = decay[:, t] * state + gate[:, t] * candidate[:, t]
        outputs.append(state)
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("coupled", [False, True])
def test_it_computes_its_equation(coupled):
    mixer = Signed(8, coupled=coupled).double()
    x = torch.randn(3, 20, 8, dtype=torch.float64)
    state = torch.randn(3, 8, dtype=torch.float64)
    torch.testing.assert_close(mixer(x, state)[0], by_hand(mixer, x, state), rtol=0, atol=1e-12)


def parity_keeper(**settings):
    """Input channel 0 is the bit: every state flips at a 1 and holds at a 0; nothing is written."""
    mixer = Signed(4, **settings)
    with torch.no_grad():
        mixer.projection.weight.zero_()
        mixer.projection.bias.zero_()
        decay = mixer.projection.rows("decay")
        mixer.projection.weight[decay, 0] = -40.0
        mixer.projection.bias[decay] = 20.0
        mixer.projection.bias[mixer.projection.rows("gate")] = -1e3
    return mixer


@pytest.mark.parametrize("coupled", [False, True])
def test_a_saturated_state_keeps_parity_for_ever(coupled):
    bits = torch.randint(0, 2, (4, 2000))
    x = torch.zeros(4, 2000, 4)
    x[..., 0] = bits
    y, _ = parity_keeper(coupled=coupled)(x, torch.ones(4, 4))
    assert torch.equal(y[..., 0], (1 - 2 * (bits.cumsum(1) % 2)).float())


def test_a_coupled_state_forgets_as_much_as_it_writes():
    x = torch.zeros(1, 3, 4)
    for coupled, kept in ((True, 0.125), (False, 1.0)):
        mixer = parity_keeper(coupled=coupled)
        with torch.no_grad():
            mixer.projection.bias[mixer.projection.rows("gate")] = 0.0
        torch.testing.assert_close(mixer(x, torch.ones(1, 4))[1], torch.full((1, 4), kept))
