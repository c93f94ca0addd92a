"""A model of several layers with its extractor held becomes a finite machine, looked at whole, or an exact representation at each node."""

import copy
import itertools
import math
from dataclasses import replace

import pytest
import torch

from mingru.analysis import answers, certificate, held, machine, rest
from mingru.analysis.gauge import harden_gauge, moments
from mingru.analysis.layered import harden_layered
from mingru.analysis.maps import Maps
from mingru.analysis.situations import Situations
from mingru.mixers.baselines.gru import GRU
from mingru.mixers.log import Log
from mingru.mixers.selection import Selection
from mingru.mixers.signed import Signed
from mingru.stack import Stack
from tasks.base import Batch
from tests.analysis.machines import CYCLIC, ORDER, WIDTH, moving, shifting, spelt, turning

TABLE = torch.tensor([[(x + h) % ORDER for h in range(ORDER)] for x in range(ORDER)])


def labels(words):
    return CYCLIC.oracle(Batch(words, words))


def hardened(stack):
    found = held.hold(stack, 2, 16)
    spelling = answers.read_answers(stack, found.situations)
    assert spelling.fault is None
    return harden_layered(found, spelling, 16)


def every_word(length):
    return torch.tensor(list(itertools.product(range(ORDER), repeat=length)))


@pytest.mark.parametrize("period", [1, 2, 3])
def test_a_situation_is_a_place_and_the_last_tokens(period):
    situations = Situations(3, period)
    layer = held.HardenedExtractor(4, 3, period)
    tokens = torch.randint(3, (1, 40))
    found, _ = layer.situations(tokens, layer.init_state(1))
    node = 0
    for t in range(40):
        s = int(found[0, t])
        assert (int(situations.place[s]), int(situations.before[s])) == (t % period, node)
        assert bool(situations.completes[s]) == (t % period == period - 1)
        if t >= period - 1:
            assert answers.spelt(situations.word[s : s + 1], situations).tolist() == [tokens[0, t - period + 1 : t + 1].tolist()]
        node = int(situations.after[s])
        assert 0 <= node < situations.nodes


def test_what_tokens_spell_and_the_table_are_read_from_answers():
    spelling = answers.read_answers(moving(), Situations(ORDER, 2))
    assert spelling.fault is None
    assert torch.equal(spelling.table, TABLE)
    assert spelling.elements.tolist() == [spelt(first, second) for first in range(ORDER) for second in range(ORDER)]
    assert answers.equals_task(spelling, Situations(ORDER, 2), labels)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"shift": lambda phase, first, second: second}, "an answer changes before its element is complete"),
        ({"shift": lambda phase, first, second: 0}, "some answers are never given after an element"),
        ({"merges": True}, "an answer is no function of the element's tokens and of the answer before"),
    ],
)
def test_answers_that_are_no_groups_are_told_so(settings, fault):
    assert answers.read_answers(moving(**settings), Situations(ORDER, 2)).fault == fault


def test_a_first_answer_that_is_not_the_identitys_is_told_so():
    class Early:
        head = torch.nn.Linear(1, ORDER)

        def __call__(self, words):
            answered = labels(words)
            answered[:, 0] = 3
            return torch.nn.functional.one_hot(answered, ORDER), None

    assert answers.read_answers(Early(), Situations(ORDER, 2)).fault == "it does not begin with the answer of the identity"


@pytest.mark.parametrize("settings", [{"shift": lambda phase, first, second: phase * spelt(second, first)}, {"first_answer": 2}])
def test_another_square_and_other_names_are_not_the_tasks(settings):
    spelling = answers.read_answers(moving(**settings), Situations(ORDER, 2))
    assert spelling.fault is None
    assert not answers.equals_task(spelling, Situations(ORDER, 2), labels)


def test_a_last_layer_that_moves_its_state_becomes_a_machine_that_is_right_for_ever():
    found = hardened(moving())
    assert found.gauge is None
    assert found.right
    assert found.held.share == pytest.approx(1)
    assert found.machine.answers.margin > 1
    for words in (every_word(4), torch.randint(ORDER, (16, 500))):
        assert torch.equal(found.stack(words)[0].argmax(-1), labels(words))


def test_as_many_states_are_found_as_stepping_the_stack_comes_into():
    found = hardened(moving())
    frontier, seen = [found.stack.init_state(1)], set()
    while frontier:
        after = [found.stack.step(torch.tensor([token]), state)[1] for state in frontier for token in range(ORDER)]
        new = {tuple(torch.cat([part.flatten() for part in state]).tolist()): state for state in after}
        frontier = [state for key, state in new.items() if key not in seen]
        seen |= set(new)
    assert (found.machine.states, found.machine.answers.pairs) == (len(seen), ORDER * len(seen))


def test_a_machine_that_goes_wrong_anywhere_is_not_right():
    """It counts as the task does, but for one word after one other, of which a reading of two elements is not told."""
    found = held.hold(moving(), 2, 16)
    linear = found.learned.linear.clone()
    linear[ORDER**2 + 7, 0] = linear[ORDER**2 + 7, 0].roll(1, 0)
    wrong = replace(found, stack=held.moved_by(found.stack, Maps(linear, found.learned.drive, found.learned.start)))
    spelling = answers.read_answers(moving(), found.situations)
    assert machine.explore(held.begin_midway(found, 16), spelling).answers.wrong == 0
    assert machine.explore(held.begin_midway(wrong, 16), spelling).answers.wrong > 0


def test_what_varies_about_the_last_tokens_is_held_at_its_mean():
    stack = moving()
    torch.manual_seed(1)
    more = Stack([Log], WIDTH, 2, n_tokens=2).blocks[0]
    with torch.no_grad():
        more.mlp[2].weight.zero_()
        more.mlp[2].bias.zero_()
    stack.blocks.insert(1, more)
    found = held.hold(stack, 2, 16)
    assert 0.5 < found.share < 0.999
    words = torch.randint(ORDER, (4096, 16), generator=torch.Generator().manual_seed(2))
    extractor = found.stack.blocks[0].mixer
    situations = extractor.situations(words, extractor.init_state(len(words)))[0]
    with torch.no_grad():
        given = held.below(stack, words)
    for situation in situations[:, 8:].unique():
        mean = given[:, 8:][situations[:, 8:] == situation].mean(0)
        torch.testing.assert_close(extractor.outputs[situation], mean, atol=0.1, rtol=0)


def test_a_held_stack_moves_its_state_as_the_last_layer_learned_to():
    stack = turning(noise=0.05)
    found = held.hold(stack, 2, 16)
    words = torch.randint(ORDER, (8, 32))
    torch.testing.assert_close(found.stack(words)[0], stack(words)[0], atol=1e-4, rtol=0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_last_layer_that_computes_is_made_exact_in_its_own_gauge(noise):
    stack = turning(noise)
    words = torch.randint(ORDER, (8, 3000), generator=torch.Generator().manual_seed(0))
    assert (stack(words)[0].argmax(-1) != labels(words)).any() == (noise > 0)
    found = hardened(stack)
    assert found.machine is None
    assert found.right
    assert torch.equal(found.stack(words)[0].argmax(-1), labels(words))
    assert [orbit.dims for orbit in found.gauge.orbits if orbit.dims] == [[2]]
    assert certificate.largest_miss(found.gauge) < 1e-12


def test_each_node_has_a_turn_of_its_own():
    """The layer turns by half a pair's angle at its first token: at no two nodes is the state the same after the same product."""
    gauge = hardened(turning()).gauge
    carrying = next(orbit for orbit in gauge.orbits if orbit.dims)
    apart = torch.cdist(carrying.states[:, 0], carrying.states[:, 0]) + torch.eye(len(carrying.states)) * 9
    assert float(apart.min()) > 0.1


def test_hardening_in_a_gauge_twice_changes_nothing():
    once = hardened(turning(noise=0.05))
    again = harden_gauge(held.Held(once.stack, once.held.situations, once.gauge.exact, 1.0), once.spelling)
    torch.testing.assert_close(again.states, once.gauge.states, rtol=0, atol=1e-9)


def test_the_mean_states_at_nodes_are_the_means_over_all_words():
    found = held.hold(turning(noise=0.3), 2, 16)
    situations, learned = found.situations, found.learned
    spelling = answers.read_answers(turning(), situations)
    means, share = moments(found, situations.products(spelling.elements, spelling.table), 0, 4)
    tokens = every_word(4)
    before = torch.zeros(len(tokens), dtype=torch.int64)
    state = learned.start.expand(len(tokens), *learned.start.shape)
    for t in range(4):
        s = t % 2 * ORDER**2 + before * ORDER + tokens[:, t]
        state = (learned.linear[s] @ state.unsqueeze(-1)).squeeze(-1) + learned.drive[s]
        before = tokens[:, t]
    product = labels(tokens)[:, -1]
    total, explained = 0.0, 0.0
    for token in range(ORDER):
        here = state[tokens[:, -1] == token]
        for g in range(ORDER):
            chosen = state[(tokens[:, -1] == token) & (product == g)]
            torch.testing.assert_close(means[token, g], chosen.mean(0))
            explained = explained + len(chosen) * (chosen.mean(0) - here.mean(0)).square().sum(-1)
        total = total + (here - here.mean(0)).square().sum(-1).sum(0)
    torch.testing.assert_close(share, (explained / total).nan_to_num())


def test_no_answer_changes_within_the_safe_radius_and_rounding_stays_below_its_bound():
    found = hardened(turning(noise=0.05))
    gauge, stack = found.gauge, copy.deepcopy(found.held.stack).double()
    after, targets = gauge.after_each(), torch.arange(ORDER)
    radius = rest.safe_radius(stack, found.held.given, after, targets)
    assert radius > 0
    for _ in range(20):
        away = torch.randn_like(after)
        moved = after + radius * away / away.norm(dim=-1, keepdim=True)
        assert all(bool((logits.argmax(-1) == targets).all()) for logits, _, _ in rest.logits(stack, found.held.given, moved))
    words = torch.randint(ORDER, (4, 1000))
    extractor, layer = (block.mixer for block in found.stack.blocks)
    situations = extractor.situations(words, extractor.init_state(4))[0]
    states = layer(layer.inputs[situations])[0].double()
    wanted = gauge.states.flatten(2)[found.held.situations.after[situations], labels(words)]
    grown = [certificate.growth(gauge, block, torch.float32) for block in range(layer.state_shape[0])]
    bounds = torch.tensor([math.hypot(*(block.after(t + 1) for block in grown)) for t in range(1000)])
    assert bool(((states - wanted).norm(dim=-1).amax(0) < bounds).all())
    assert float(bounds[-1]) < 0.1


def test_what_does_not_track_the_group_is_not_right():
    spelling = answers.read_answers(turning(), Situations(ORDER, 2))
    assert not harden_layered(held.hold(turning(noise=3.0), 2, 16), spelling, 16).right
    torch.manual_seed(0)
    untrained = Stack([Signed, lambda d_model: Selection(d_model, block_size=5)], WIDTH, ORDER, n_tokens=ORDER)
    assert answers.read_answers(untrained, Situations(ORDER, 2)).fault is not None


def test_stacks_that_cannot_be_held_are_refused():
    torch.manual_seed(0)
    with pytest.raises(ValueError, match="a stack over tokens"):
        held.hold(Stack([Selection], 16, 2, n_tokens=2, head="last"), 2, 16)
    with pytest.raises(ValueError, match="at most 32,768 situations"):
        held.hold(Stack([Signed, Selection], 16, 2, n_tokens=60), 4, 64)
    with pytest.raises(ValueError, match="gru: its maps cannot be read"):
        held.hold(Stack([Signed, GRU], 16, ORDER, n_tokens=ORDER), 2, 16)


def test_the_start_is_one_that_comes_back():
    stack = held.begin_midway(held.hold(moving(), 2, 16), 16).stack
    word = torch.randint(ORDER, (1, 16), generator=torch.Generator().manual_seed(0))
    start = stack.init_state(1)
    state = start
    for _ in range(12):
        state = stack(word, state)[1]
        if all(torch.equal(one, other) for one, other in zip(state, start, strict=True)):
            return
    pytest.fail("the start did not come back")


def test_shifts_that_are_none_of_the_tasks_are_what_the_tests_say_they_are():
    assert [shifting(1, 0, second) for second in range(ORDER)] == [spelt(0, second) for second in range(ORDER)]
    assert shifting(0, 3, 4) == 0
