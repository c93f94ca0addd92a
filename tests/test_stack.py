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
TIMED = {"d_input": 2, "n_outputs": 2, "time_feature": True}
CHURN = {"d_input": 126, "n_outputs": 2, "head": "last", "time_feature": True}
FADING = {"decay": "learnable", "decay_rate": 0.05, "log1p_delta": True}
# LADDER.md d.3 and d.7. Its pendulum and churn arms have time as an input, and those of one mixer but
# delta a decay channel besides.
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
    ([BARE, BARE], PSMNIST, 38_474),
    ([DELTA, DELTA], CONTINUOUS, 118_162),
    ([DELTA, DELTA], TIMED, 118_162),
    ([partial(Log, **FADING)] * 2, TIMED, 83_970),
    ([partial(Signed, **FADING)] * 2, TIMED, 92_290),
    ([partial(Rotation, **FADING)] * 2, TIMED, 92_354),
    ([Signed, Rotation], TIMED, 92_226),
    ([partial(Givens, **FADING)] * 2, TIMED, 96_466),
    ([Signed, Givens], TIMED, 94_306),
    ([Signed, DELTA], TIMED, 105_162),
    ([BARE, BARE], TIMED, 38_338),
    ([BARE, BARE], CHURN, 62_146),
    ([partial(Log, **FADING)] * 2, CHURN, 91_906),
    ([partial(Givens, **FADING)] * 2, CHURN, 104_402),
    ([DELTA, DELTA], CHURN, 126_098),
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


KINDS = [({}, (3, 21)), ({"n_tokens": None, "d_input": 4}, (3, 21, 4))]


@pytest.mark.parametrize("fading", [None, "learnable"])
@pytest.mark.parametrize(("entry", "shape"), KINDS, ids=["tokens", "vectors"])
def test_with_time_too_a_split_sequence_and_single_steps_equal_the_whole(entry, shape, fading):
    layers = [Signed, partial(Givens, decay=fading), partial(GRU)]
    network = Stack(layers, 16, **{"n_outputs": 5, "n_tokens": 6, "time_feature": True, **entry}).double()
    inputs = torch.randint(0, 6, shape) if len(shape) == 2 else torch.randn(shape, dtype=torch.float64)
    gaps = 3 * torch.rand(3, 21, dtype=torch.float64)
    logits, state = network(inputs, None, gaps)
    expected = [logits, *state, *gradients(logits, state, network.parameters())]
    for call, cut in ((network, lambda x: x.tensor_split([1, 7, 20], dim=1)), (network.step, lambda x: x.unbind(1))):
        state, parts = None, []
        for piece, gap in zip(cut(inputs), cut(gaps), strict=True):
            logits, state = call(piece, state, gap)
            parts.append(logits)
        logits = torch.cat(parts, dim=1) if call is network else torch.stack(parts, dim=1)
        for one, other in zip([logits, *state, *gradients(logits, state, network.parameters())], expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_time_as_an_input_is_the_logarithm_of_one_more_than_the_gap_beside_what_was_there():
    vectors, gaps = torch.randn(2, 5, 3, dtype=torch.float64), 9 * torch.rand(2, 5, dtype=torch.float64)
    timed, plain = stack(n_tokens=None, d_input=3, time_feature=True), stack(n_tokens=None, d_input=4)
    plain.load_state_dict(timed.state_dict())
    beside = torch.cat([vectors, (1 + gaps).log().unsqueeze(-1)], dim=-1)
    torch.testing.assert_close(timed(vectors, None, gaps)[0], plain(beside)[0])
    tokens, of_tokens = torch.randint(0, 6, (2, 5)), stack(time_feature=True)
    inside = stack(n_tokens=None, d_input=17)
    weights = of_tokens.state_dict()
    kept = {name: weight for name, weight in weights.items() if not name.startswith(("embed", "time_entry"))}
    inside.load_state_dict({"embed.weight": weights["time_entry.weight"], "embed.bias": weights["time_entry.bias"], **kept})
    beside = torch.cat([weights["embed.weight"][tokens], (1 + gaps).log().unsqueeze(-1)], dim=-1)
    torch.testing.assert_close(of_tokens(tokens, None, gaps)[0], inside(beside)[0])


def test_gaps_reach_the_layers_that_decay_and_no_others():
    network = Stack([Signed, partial(Givens, decay="fixed"), BARE], 16, n_outputs=5, n_tokens=6)
    given = []
    for block in network.blocks:
        block.mixer.register_forward_pre_hook(lambda mixer, arguments: given.append(arguments[2]))
    gaps = torch.rand(2, 5)
    network(torch.randint(0, 6, (2, 5)), None, gaps)
    assert given[0] is None
    assert torch.equal(given[1], gaps)
    assert given[2] is None


def test_without_time_a_stack_is_what_it_was():
    torch.manual_seed(7)
    plain = Stack([Signed, Givens], 16, n_outputs=5, n_tokens=6)
    torch.manual_seed(7)
    fading = Stack([partial(Signed, decay="learnable"), Givens], 16, n_outputs=5, n_tokens=6)
    assert set(fading.state_dict()) - set(plain.state_dict()) == {"blocks.0.mixer.decay.rho"}
    assert all(torch.equal(fading.state_dict()[name], weight) for name, weight in plain.state_dict().items())
    tokens = torch.randint(0, 6, (2, 5))
    torch.testing.assert_close(fading(tokens, None, torch.zeros(2, 5))[0], plain(tokens)[0])


def test_a_word_is_decoded_from_its_end_whole_or_in_pieces_or_token_by_token():
    network, tokens = stack(head="autoencode"), torch.randint(0, 6, (3, 21))
    logits, state = network(tokens)
    assert logits.shape == (3, 21, 5)
    expected = [logits, *state[:-1], *gradients(logits, state[:-1], network.parameters())]
    for call, pieces in ((network, tokens.tensor_split([1, 7, 20], dim=1)), (network.step, tokens.unbind(1))):
        read, carried = 0, None
        for piece in pieces:
            part, carried = call(piece, carried)
            read += piece.numel() // 3
            assert part.shape == (3, read, 5)
            torch.testing.assert_close(part, network(tokens[:, :read])[0], rtol=0, atol=1e-10)
            assert carried[-1].tolist() == [read] * 3
        ours = [part, *carried[:-1], *gradients(part, carried[:-1], network.parameters())]
        for one, other in zip(ours, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    assert torch.equal(network(tokens, network.init_state(3))[0], logits)


def test_every_position_of_a_decoded_word_depends_on_every_token_and_on_its_own_place():
    network, tokens = stack(head="autoencode"), torch.tensor([[2, 2, 2, 2]])
    logits = network(tokens)[0]
    for t in range(4):
        changed = tokens.clone()
        changed[0, t] = 3
        assert (network(changed)[0] != logits).any(-1).all()
    assert not any(torch.allclose(logits[0, t], logits[0, t + 1]) for t in range(3))


def test_a_decoder_is_two_layers_as_wide_as_the_stack_with_norms_before_the_logits():
    plain, decoding = (sum(p.numel() for p in stack(head=head).parameters()) for head in ("per_position", "autoencode"))
    norms_and_layers = 2 * (2 * 16 + 16 * 16 + 16)
    assert decoding - plain == norms_and_layers


def test_words_that_go_on_from_other_lengths_are_refused():
    network = stack(head="autoencode")
    _, state = network(torch.zeros(2, 3, dtype=torch.int64))
    state[-1][1] = 7
    with pytest.raises(ValueError, match=r"stack: the words of a batch go on from one length, got lengths \[3, 7\]"):
        network(torch.zeros(2, 3, dtype=torch.int64), state)
    with pytest.raises(ValueError, match=r"one tensor per layer and the number of tokens read, 3, got 2"):
        network(torch.zeros(2, 3, dtype=torch.int64), state[:-1])


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


@pytest.mark.parametrize("time_feature", [False, True])
def test_two_bare_layers_on_vectors_are_a_plain_gru_before_the_head(time_feature):
    network = Stack([BARE, BARE], 8, n_outputs=5, d_input=3, time_feature=time_feature)
    reference = nn.GRU(3 + time_feature, 8, num_layers=2, batch_first=True)
    layers = [block.mixer.cell.state_dict() for block in network.blocks]
    reference.load_state_dict({name.replace("l0", f"l{i}"): weight for i, layer in enumerate(layers) for name, weight in layer.items()})
    vectors, gaps = torch.randn(3, 9, 3), torch.rand(3, 9) if time_feature else None
    read = torch.cat([vectors, gaps.log1p().unsqueeze(-1)], dim=-1) if time_feature else vectors
    logits, _ = network(vectors, None, gaps)
    torch.testing.assert_close(logits, network.head(reference(read)[0]))
    state = None
    for t in range(9):
        logits_t, state = network.step(vectors[:, t], state, gaps if gaps is None else gaps[:, t])
        torch.testing.assert_close(logits_t, logits[:, t])
    with pytest.raises(ValueError, match=r"stack: inputs must have shape \(B, T, 3\), each at least 1, got \(3, 9, 2\)"):
        network(vectors[..., :2], None, gaps)
    with pytest.raises(ValueError, match=r"stack: vectors must be torch.float32, got torch.float64"):
        network(vectors.double(), None, gaps)


def test_to_look_whether_the_first_layer_is_bare_draws_no_random_numbers():
    torch.manual_seed(7)
    network = Stack([Givens], 16, n_outputs=5, d_input=3)
    torch.manual_seed(7)
    parts = [nn.Linear(3, 16), *Givens(16).parameters()]
    assert torch.equal(network.embed.weight, parts[0].weight)
    assert all(torch.equal(ours, weight) for ours, weight in zip(network.blocks[0].mixer.parameters(), parts[1:], strict=True))


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
        (lambda: stack(head="first"), "head must be per_position, last or autoencode, got 'first'"),
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
        (lambda: stack()(torch.zeros(2, 5, dtype=torch.int64), delta_t=torch.ones(2, 5)), "stack: got delta_t, but time is no input here"),
        (lambda: stack(time_feature=True)(torch.zeros(2, 5, dtype=torch.int64)), "time is an input here, so delta_t is wanted, got none"),
        (
            lambda: stack(time_feature=True)(torch.zeros(2, 5, dtype=torch.int64), delta_t=torch.ones(2, 4)),
            r"stack: delta_t must have shape \(2, 5\), got \(2, 4\)",
        ),
    ],
)
def test_what_cannot_be_computed_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message):
        call()
