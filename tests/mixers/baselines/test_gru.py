import torch
from torch import nn

from mingru.mixers.baselines.gru import GRU


def test_it_is_torchs_gru():
    mixer = GRU(8)
    x, state = torch.randn(3, 11, 8), torch.randn(3, 8)
    reference = nn.GRU(8, 8, batch_first=True)
    reference.load_state_dict(mixer.cell.state_dict())
    expected, last = reference(x, state.unsqueeze(0))
    y, state = mixer(x, state)
    assert torch.equal(y, expected)
    assert torch.equal(state, last[0])


def test_a_half_precision_model_is_computed_in_float32():
    mixer = GRU(8).bfloat16()
    x = torch.randn(3, 11, 8, dtype=torch.bfloat16)
    y, state = mixer(x)
    expected, last = mixer.float()(x.float())
    torch.testing.assert_close(state, last)
    torch.testing.assert_close(y, expected.bfloat16())


def test_autocast_rounds_nothing_inside_the_recurrence():
    mixer = GRU(8)
    x = torch.randn(3, 11, 8)
    with torch.autocast("cpu", torch.bfloat16):
        y, _ = mixer(x)
    assert torch.equal(y, mixer(x)[0])
