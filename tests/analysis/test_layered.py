"""A model of several layers with its extractor held is read as the machine that it is, whole, and without labels."""

import itertools

import numpy as np
import pytest
import torch

from mingru.analysis import held, layered, machine
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.selection import Selection
from mingru.mixers.signed import Signed
from mingru.stack import Stack
from tasks.base import Batch
from tests.analysis.machines import CYCLIC, ORDER, WIDTH, spelt
from tests.analysis.machines import machine as made


def labels(words):
    return CYCLIC.oracle(Batch(words, words))


def test_a_machine_that_computes_the_task_is_read_as_its_group():
    found = layered.harden_layered(made(), period=2, length=16)
    assert found.fault is None
    assert found.table.tolist() == [[(x + h) % ORDER for h in range(ORDER)] for x in range(ORDER)]
    assert found.start == 0
    assert layered.equals_task(found, labels)
    assert found.share == pytest.approx(1)
    assert found.machine.margin > 1
    every = torch.tensor(list(itertools.product(range(ORDER), repeat=4)))
    for words in (every, torch.randint(ORDER, (16, 500))):
        assert torch.equal(found.held(words)[0].argmax(-1), labels(words))


def test_as_many_states_are_found_as_stepping_the_stack_comes_into():
    stack = layered.harden_layered(made(), period=2, length=16).held
    frontier, seen = [stack.init_state(1)], set()
    while frontier:
        after = [stack.step(torch.tensor([token]), state)[1] for state in frontier for token in range(ORDER)]
        new = {tuple(torch.cat([part.flatten() for part in state]).tolist()): state for state in after}
        frontier = [state for key, state in new.items() if key not in seen]
        seen |= set(new)
    explored = machine.explore(stack)
    assert (explored.states, explored.transitions) == (len(seen), ORDER * len(seen))


def test_what_varies_about_the_last_tokens_is_held_at_its_mean():
    stack = made()
    torch.manual_seed(1)
    more = Stack([lambda d_model: Log(d_model)], WIDTH, 2, n_tokens=2).blocks[0]
    with torch.no_grad():
        more.mlp[2].weight.zero_()
        more.mlp[2].bias.zero_()
    stack.blocks.insert(1, more)
    found, share = held.hold(stack, 2, 16)
    assert 0.5 < share < 0.999
    words = torch.randint(ORDER, (4096, 16), generator=torch.Generator().manual_seed(2))
    extractor = found.blocks[0].mixer
    situations = extractor.situations(words, extractor.init_state(len(words)))[0]
    with torch.no_grad():
        given = held.below(stack, words)
    for situation in situations[:, 8:].unique():
        mean = given[:, 8:][situations[:, 8:] == situation].mean(0)
        torch.testing.assert_close(extractor.outputs[situation], mean, atol=0.1, rtol=0)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"shift": lambda phase, first, second: second}, "an answer changes before its element is complete"),
        ({"shift": lambda phase, first, second: 0}, "some answers are never given"),
        ({"merges": True}, "an answer is no function of the element's tokens and of the answer before"),
    ],
)
def test_a_machine_that_is_no_groups_is_told_so(settings, fault):
    found = layered.harden_layered(made(**settings), period=2, length=16)
    assert found.fault == fault
    assert found.table is None


def test_a_groups_machine_that_is_not_the_tasks_is_told_apart():
    other_square = layered.harden_layered(made(lambda phase, first, second: phase * spelt(second, first)), period=2, length=16)
    assert other_square.fault is None
    assert not layered.equals_task(other_square, labels)
    other_start = layered.harden_layered(made(first_answer=2), period=2, length=16)
    assert not layered.equals_task(other_start, labels)


def test_a_word_that_did_two_things_is_noticed_within_a_batch_and_between_two():
    acts = np.full((2, 3), machine.UNSEEN)
    assert machine.entered(acts, np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([2, 2, 0]))
    assert not machine.entered(acts, np.array([1]), np.array([2]), np.array([1]))
    assert not machine.entered(acts, np.array([1, 1]), np.array([0, 0]), np.array([0, 1]))


def test_a_last_layer_that_computes_is_refused():
    torch.manual_seed(0)
    computes = Stack([Signed, lambda d_model: Givens(d_model, block_size=6)], WIDTH, ORDER, n_tokens=ORDER)
    with pytest.raises(ValueError, match="givens: computes with its state"):
        layered.harden_layered(computes, period=2, length=16)
    driven = Stack([Signed, lambda d_model: Selection(d_model, block_size=4, injection=True)], WIDTH, ORDER, n_tokens=ORDER)
    with pytest.raises(ValueError, match="selection: computes with its state"):
        layered.harden_layered(driven, period=2, length=16)


def test_a_flat_stack_and_too_many_situations_are_refused():
    with pytest.raises(ValueError, match="two layers or more"):
        held.hold(Stack([Selection], 16, 2, n_tokens=2), 2, 16)
    with pytest.raises(ValueError, match="at most 131,072 situations"):
        held.hold(Stack([Signed, Selection], 16, 2, n_tokens=60), 4, 64)


def test_the_start_is_one_that_comes_back():
    stack, _ = held.hold(made(), 2, 16)
    held.begin_midway(stack, stack.blocks[-1].mixer.h0, 16)
    start = stack.init_state(1)
    state = stack(torch.randint(ORDER, (1, 16), generator=torch.Generator().manual_seed(0)))[1]
    for _ in range(12):
        if all(torch.equal(one, other) for one, other in zip(state, start, strict=True)):
            return
        state = stack(torch.randint(ORDER, (1, 16), generator=torch.Generator().manual_seed(0)), state)[1]
    pytest.fail("the start did not come back")
