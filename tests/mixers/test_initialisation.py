"""A seed gives the numbers of the reference: separate Linear layers, built in its order, then its initial state."""

from functools import partial

import pytest
import torch
from torch import nn

from mingru.block import Block
from mingru.mixers.baselines.gru import GRU
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.rotation import Rotation
from mingru.mixers.signed import Signed
from mingru.stack import Stack

BUILT_IN_ORDER = {
    "log": (Log, [16, 16], False),
    "signed": (Signed, [16, 16, 16], False),
    "rotation": (Rotation, [16, 16, 8, 8], True),
    "givens": (Givens, [24, 16, 16], True),
    "delta": (partial(Delta, n_heads=2, n_householder=3, d_k=4, d_v=6), [8] * 4 + [12] * 3 + [2] * 3, False),
}

PARAMETERS = {
    "log": (Log, 8_320),
    "signed": (Signed, 12_480),
    "rotation": (Rotation, 12_544),
    "givens": (Givens, 14_624),
    "delta": (Delta, 16_900),
    "delta of two factors": (partial(Delta, n_householder=2), 25_480),
    "delta of 64 elements": (partial(Delta, n_heads=1, n_householder=2, d_k=8, d_v=8), 3_306),
    "gru": (GRU, 24_960),
}


def flat(weights):
    return torch.cat([weight.detach().flatten() for weight in weights])


@pytest.mark.parametrize("name", BUILT_IN_ORDER)
def test_a_seed_gives_the_weights_of_separate_layers(name):
    build, widths, learned_start = BUILT_IN_ORDER[name]
    torch.manual_seed(7)
    mixer = build(d_model=16)
    torch.manual_seed(7)
    layers = [nn.Linear(16, width) for width in widths]
    start = torch.randn(1, 1, 16) * 0.5
    assert torch.equal(mixer.projection.weight, torch.cat([layer.weight for layer in layers]))
    assert torch.equal(mixer.projection.bias, torch.cat([layer.bias for layer in layers]))
    if learned_start:
        assert torch.equal(mixer.h0.flatten(), start.flatten())


def test_the_output_layer_of_delta_comes_after_its_projections():
    torch.manual_seed(7)
    mixer = Delta(16, n_heads=2)
    torch.manual_seed(7)
    *_, output = [nn.Linear(16, width) for width in (16, 16, 16, 2, 16)]
    assert torch.equal(mixer.output.weight, output.weight)
    assert torch.equal(mixer.output.bias, output.bias)


def test_the_gru_has_torchs_own_weights():
    torch.manual_seed(7)
    mixer = GRU(16)
    torch.manual_seed(7)
    assert torch.equal(flat(mixer.parameters()), flat(nn.GRU(16, 16).parameters()))


def test_a_stack_is_built_from_the_embedding_to_the_head():
    torch.manual_seed(7)
    stack = Stack([partial(Signed), partial(Givens)], 16, n_outputs=5, n_tokens=6)
    torch.manual_seed(7)
    parts = [nn.Embedding(6, 16), Block(Signed, 16), Block(Givens, 16), nn.LayerNorm(16), nn.Linear(16, 5)]
    assert torch.equal(flat(stack.parameters()), flat(weight for part in parts for weight in part.parameters()))


def test_the_mlp_of_a_block_comes_after_its_mixer():
    torch.manual_seed(7)
    block = Block(Log, 16)
    torch.manual_seed(7)
    mixer, first, second = Log(16), nn.Linear(16, 64), nn.Linear(64, 16)
    assert torch.equal(flat(block.mixer.parameters()), flat(mixer.parameters()))
    assert torch.equal(flat(block.mlp.parameters()), flat([first.weight, first.bias, second.weight, second.bias]))


@pytest.mark.parametrize(("build", "count"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_mixer_of_width_64_has_the_reference_count_of_parameters(build, count):
    assert sum(parameter.numel() for parameter in build(d_model=64).parameters()) == count


def test_a_learned_start_costs_one_number_per_channel():
    for mixer in (Log, Signed):
        plain, learned = mixer(64), mixer(64, learnable_h0=True)
        assert sum(p.numel() for p in learned.parameters()) - sum(p.numel() for p in plain.parameters()) == 64
        assert torch.equal(learned.init_state(2), plain.init_state(2))
        learned(torch.randn(2, 3, 64))[0].sum().backward()
        assert torch.count_nonzero(learned.h0.grad) == 64
