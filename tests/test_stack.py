from functools import partial

import pytest
import torch
from torch import nn

from mingru.mixers.baselines.gru import GRU
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.rotation import Rotation
from mingru.mixers.signed import Signed
from mingru.stack import Stack

BARE = partial(GRU, bare=True)
DELTA = partial(Delta, n_householder=2)
DELTA_64 = partial(Delta, n_heads=1, n_householder=2, d_k=8, d_v=8)

S3, S5, MQAR = {"n_tokens": 6, "n_outputs": 6}, {"n_tokens": 120, "n_outputs": 120}, {"n_tokens": 64, "n_outputs": 64}
PSMNIST, CONTINUOUS = {"d_input": 1, "n_outputs": 10, "head": "last"}, {"d_input": 3, "n_outputs": 2}
# LADDER.md d.3 and d.7. Its pendulum arms but delta carry a decay channel besides.
COUNTS = [
    ([Signed, Givens], S3, 94_694),
    ([Signed, Rotation], S3, 92_614),
    ([Signed, DELTA_64], S3, 83_376),
    ([Signed, DELTA], S3, 105_550),
    ([Log, Log], S5, 98_936),
    ([Signed, Signed], S5, 107_256),
    ([Rotation, Rotation], S5, 107_384),
    ([Signed, Rotation], S5, 107_320),
    ([Givens, Givens], S5, 111_544),
    ([DELTA, DELTA], S5, 133_256),
    ([Signed, Givens], S5, 109_400),
    ([Signed, DELTA], S5, 120_256),
    ([BARE, BARE], S5, 65_400),
    ([Log, Log], MQAR, 91_712),
    ([Signed, Signed], MQAR, 100_032),
    ([Rotation, Rotation], MQAR, 100_160),
    ([Givens, Givens], MQAR, 104_320),
    ([DELTA, DELTA], MQAR, 126_032),
    ([Signed, DELTA], MQAR, 113_032),
    ([BARE, BARE], MQAR, 58_176),
    ([Log, Log], PSMNIST, 84_234),
    ([Givens, Givens], PSMNIST, 96_842),
    ([DELTA, DELTA], PSMNIST, 118_554),
    ([DELTA, DELTA], CONTINUOUS, 118_162),
]


def stack(**settings):
    return Stack([Signed, Givens], 16, **{"n_outputs": 5, "n_tokens": 6, **settings}).double()


def gradients(logits, state, parameters):
    numbers = torch.Generator().manual_seed(1)
    parts = (logits, *state)
    loss = sum((part * torch.randn(part.shape, generator=numbers, dtype=part.dtype)).sum() for part in parts)
    return torch.autograd.grad(loss, list(parameters))


@pytest.mark.parametrize(("layers", "ends", "count"), COUNTS)
def test_a_stack_has_as_many_parameters_as_the_reference(layers, ends, count):
    with torch.device("meta"):
        network = Stack(layers, 64, **ends)
    assert sum(parameter.numel() for parameter in network.parameters()) == count


@pytest.mark.parametrize("inputs", [torch.randint(0, 6, (3, 21)), torch.randn(3, 21, 4, dtype=torch.float64)], ids=["tokens", "vectors"])
def test_a_split_sequence_and_single_steps_equal_the_whole(inputs):
    network = stack() if inputs.dim() == 2 else stack(n_tokens=None, d_input=4)
    logits, state = network(inputs)
    expected = [logits, *state, *gradients(logits, state, network.parameters())]
    splits = [(network, inputs.tensor_split([1, 7, 20], dim=1)), (network.step, inputs.unbind(1))]
    for call, pieces in splits:
        state, parts = None, []
        for piece in pieces:
            logits, state = call(piece, state)
            parts.append(logits)
        logits = torch.cat(parts, dim=1) if call is network else torch.stack(parts, dim=1)
        ours = [logits, *state, *gradients(logits, state, network.parameters())]
        for one, other in zip(ours, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_no_state_means_the_initial_state():
    network, tokens = stack(), torch.randint(0, 6, (3, 9))
    assert torch.equal(network(tokens)[0], network(tokens, network.init_state(3))[0])


def test_logits_do_not_depend_on_later_tokens():
    network, tokens = stack(), torch.randint(0, 6, (3, 9))
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 6
    assert torch.equal(network(tokens)[0][:, :5], network(changed)[0][:, :5])


def test_the_last_position_head_gives_the_last_logits():
    network, last = stack(), stack(head="last")
    last.load_state_dict(network.state_dict())
    tokens = torch.randint(0, 6, (3, 9))
    logits, state = network(tokens)
    ours, our_state = last(tokens)
    torch.testing.assert_close(ours, logits[:, -1])
    torch.testing.assert_close(our_state, state)


def test_two_bare_layers_are_a_plain_gru_between_embedding_and_head():
    network = Stack([BARE, BARE], 8, n_outputs=5, n_tokens=6)
    reference = nn.GRU(8, 8, num_layers=2, batch_first=True)
    layers = [block.mixer.cell.state_dict() for block in network.blocks]
    reference.load_state_dict({name.replace("l0", f"l{i}"): weight for i, layer in enumerate(layers) for name, weight in layer.items()})
    tokens = torch.randint(0, 6, (3, 9))
    expected = network.head(reference(network.embed(tokens))[0])
    torch.testing.assert_close(network(tokens)[0], expected)


def test_only_a_bare_last_layer_goes_without_the_final_norm():
    assert isinstance(Stack([BARE, Signed], 8, n_outputs=5, n_tokens=6).norm, nn.LayerNorm)
    assert isinstance(Stack([Signed, BARE], 8, n_outputs=5, n_tokens=6).norm, nn.Identity)


def test_state_size_adds_up_over_the_layers():
    network = Stack([Signed, DELTA, BARE], 64, n_outputs=5, n_tokens=6)
    assert network.state_size == 64 + 1024 + 64
    assert network.state_size == sum(state.numel() for state in network.init_state(1))


def test_a_long_sequence_goes_through_in_pieces_that_leave_no_memory_behind():
    network = stack().float()
    tokens = torch.randint(0, 6, (1, 16_384))
    state = None
    with torch.no_grad():
        for piece in tokens.split(1024, dim=1):
            logits, state = network(piece, state)
            assert torch.isfinite(logits).all()
            assert all(carried.untyped_storage().nbytes() == carried.numel() * 4 for carried in state)
            assert not any(carried.requires_grad for carried in state)


def test_it_trains_under_autocast_with_a_float32_state():
    network = stack().float()
    with torch.autocast("cpu", torch.bfloat16):
        logits, state = network(torch.randint(0, 6, (3, 9)))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), torch.randint(0, 5, (27,)))
    loss.backward()
    assert {carried.dtype for carried in state} == {torch.float32}
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Stack([], 8, 5, n_tokens=6), "layers must name at least one mixer, got none"),
        (lambda: stack(head="first"), "head must be per_position or last, got 'first'"),
        (lambda: stack(d_input=3), "give either n_tokens or d_input, got n_tokens=6 and d_input=3"),
        (lambda: stack(n_tokens=None), "give either n_tokens or d_input, got n_tokens=None and d_input=None"),
        (lambda: stack()(torch.zeros(2, 0, dtype=torch.int64)), r"inputs must have shape \(B, T\), each at least 1, got \(2, 0\)"),
        (lambda: stack()(torch.zeros(0, 5, dtype=torch.int64)), r"inputs must have shape \(B, T\), each at least 1, got \(0, 5\)"),
        (lambda: stack()(torch.zeros(5, dtype=torch.int64)), r"inputs must have shape \(B, T\)"),
        (lambda: stack().step(torch.zeros(2, 5, dtype=torch.int64)), r"inputs must have shape \(B\)"),
        (lambda: stack()(torch.zeros(2, 5)), "tokens must be int64 or int32, got torch.float32"),
        (lambda: stack()(torch.tensor([[0, 6]])), "tokens must lie in 0 to 5, got 0 to 6"),
        (lambda: stack()(torch.tensor([[-1, 3]])), "tokens must lie in 0 to 5, got -1 to 3"),
        (lambda: stack(n_tokens=None, d_input=3)(torch.zeros(2, 5, 4)), r"shape \(B, T, 3\), each at least 1, got \(2, 5, 4\)"),
        (lambda: stack(n_tokens=None, d_input=3)(torch.zeros(2, 5, 3)), "vectors must be torch.float64, got torch.float32"),
        (lambda: stack()(torch.zeros(2, 5, dtype=torch.int64, device="meta")), "inputs must be on cpu, got meta"),
        (lambda: stack()(torch.zeros(2, 5, dtype=torch.int64), []), "one tensor per layer, 2, got 0"),
        (lambda: stack()(torch.zeros(2, 5, dtype=torch.int64), delta_t=torch.ones(2, 5)), "signed: got delta_t"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message):
        call()
