import pytest
import torch
from torch import nn
from torch.nn import functional as F

from mingru.block import Block
from mingru.mixers.baselines.gru import GRU
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log


def bare_gru(d_model):
    return GRU(d_model, bare=True)


def test_a_block_adds_the_mixer_and_then_the_mlp_each_after_its_norm():
    block = Block(Log, 8)
    for norm in (block.norm, block.mlp_norm):
        nn.init.normal_(norm.weight)
    x, start = torch.randn(2, 5, 8), torch.rand(2, 8)
    y, state = block(x, start)
    mixed, expected_state = block.mixer(F.layer_norm(x, (8,), block.norm.weight), start)
    middle = x + mixed
    hidden = F.layer_norm(middle, (8,), block.mlp_norm.weight) @ block.mlp[0].weight.T + block.mlp[0].bias
    exact_gelu = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    expected = middle + exact_gelu @ block.mlp[2].weight.T + block.mlp[2].bias
    torch.testing.assert_close(y, expected)
    assert torch.equal(state, expected_state)


def test_the_mlp_is_four_times_as_wide_unless_told():
    assert Block(Log, 8).mlp[0].out_features == 32
    assert Block(Log, 8, mlp_expansion=2).mlp[0].out_features == 16


def test_without_expansion_there_is_no_mlp():
    block = Block(Log, 8, mlp_expansion=0)
    x = torch.randn(2, 5, 8)
    assert torch.equal(block(x)[0], x + block.mixer(block.norm(x))[0])
    assert {name.split(".")[0] for name, _ in block.named_parameters()} == {"norm", "mixer"}


def test_a_bare_mixer_stands_alone():
    block = Block(bare_gru, 8)
    x = torch.randn(2, 5, 8)
    assert torch.equal(block(x)[0], block.mixer(x)[0])
    assert {name.split(".")[0] for name, _ in block.named_parameters()} == {"mixer"}


@pytest.mark.parametrize("mixer", [Givens, Delta, bare_gru])
def test_single_steps_equal_the_whole_sequence(mixer):
    block = Block(mixer, 8).double()
    x = torch.randn(2, 7, 8, dtype=torch.float64)
    y, last = block(x)
    state = None
    for t in range(7):
        y_t, state = block.step(x[:, t], state)
        torch.testing.assert_close(y_t, y[:, t], rtol=0, atol=1e-12)
    torch.testing.assert_close(state, last, rtol=0, atol=1e-12)


def test_a_negative_expansion_is_refused():
    with pytest.raises(ValueError, match="mlp_expansion must be at least 0, got -1"):
        Block(Log, 8, mlp_expansion=-1)
