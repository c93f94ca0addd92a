"""A held stack whose last layer only moves numbers about is a finite machine: all that it can ever do is looked at."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mingru.analysis.maps import read_maps
from mingru.analysis.rest import ALLOWANCE, read_out
from mingru.stack import Stack

# States of one block, states of the machine, and pairs of situation and state that are answered at once.
BLOCK_STATES, STATES, AT_ONCE = 2**17, 2**22, 2**14
UNSEEN = -1


@dataclass(frozen=True)
class Machine:
    """`acts[w, g]`: the answer after word w of one element, where it was g before, g = C before the first token; UNSEEN where that does not
    happen. A word is numbered by its tokens, the first most significant. `early` are the answers that are given before the first element is
    complete. `fault` says why the answers are no function of the word and of the answer before; None where they are.

    `states` are all that the machine can be in and `transitions` all that it can do; `margin` is the smallest gap between an answer's logit
    and the next, less an allowance for rounding: ten times the largest difference seen between float32 and float64.
    """

    acts: Tensor
    early: set[int]
    fault: str | None
    states: int
    transitions: int
    margin: float


@torch.no_grad()
def explore(held: Stack) -> Machine:
    """Every state that the machine can come into, from its start, by every token.

    ValueError where the last layer computes with its state instead of moving it, or there are too many states.
    """
    extractor, classes = held.blocks[0].mixer, held.head.out_features
    n, period = len(extractor.inputs), extractor.state_size
    past, blocks = n ** (period - 1), block_machines(held)
    joint = Digits([len(block.states) for block in blocks])
    if period * past * max(n, classes + 1) * joint.size > np.iinfo(np.int64).max:
        raise ValueError("the machine of a held stack: its blocks have too many states to number")

    def number(phase: np.ndarray, before: np.ndarray, answer: np.ndarray, parts: np.ndarray) -> np.ndarray:
        return ((phase * past + before) * (classes + 1) + answer) * joint.size + joint.number(parts)

    answers, (first, *tokens) = Answers(held, blocks, joint), extractor.start.long().tolist()
    phase, before = np.array([first]), Digits([n] * len(tokens)).number(np.array([tokens], np.int64).reshape(1, -1))
    answer, parts = np.array([classes]), np.array([[block.start for block in blocks]])
    seen, early, faults = number(phase, before, answer, parts), set(), []
    acts = np.full((n**period, classes + 1), UNSEEN)
    while len(answer):
        phase, before, answer, parts = (np.repeat(each, n, axis=0) for each in (phase, before, answer, parts))
        word = before * n + np.tile(np.arange(n), len(answer) // n)
        situation = phase * past * n + word
        parts = np.stack([block.table[situation, parts[:, place]] for place, block in enumerate(blocks)], axis=1)
        found, complete = answers(situation, parts), phase == period - 1
        early |= set(found[~complete & (answer == classes)].tolist())
        if (found != answer)[~complete & (answer < classes)].any():
            faults.append("an answer changes before its element is complete")
        if not entered(acts, word[complete], answer[complete], found[complete]):
            faults.append("an answer is no function of the element's tokens and of the answer before")
        # Within an element the answer before it is kept, which is none at first.
        answer, phase, before = np.where(complete, found, answer), (phase + 1) % period, word % past
        numbers, places = np.unique(number(phase, before, answer, parts), return_index=True)
        unseen = ~np.isin(numbers, seen, assume_unique=True)
        new, seen = places[unseen], np.sort(np.concatenate([seen, numbers[unseen]]))
        if len(seen) > STATES:
            raise ValueError(f"the machine of a held stack: has more than {STATES:,} states")
        phase, before, answer, parts = phase[new], before[new], answer[new], parts[new]
    # The same state after another answer, or after none, is the same state.
    situated, parts = np.divmod(seen, joint.size)
    same = np.sort(situated // (classes + 1) * joint.size + parts)
    states = 1 + int(np.count_nonzero(np.diff(same)))
    return Machine(torch.from_numpy(acts), early, faults[0] if faults else None, states, states * n, answers.margin - answers.allowance)


def entered(acts: np.ndarray, word: np.ndarray, before: np.ndarray, found: np.ndarray) -> bool:
    """Enter what words did; False where one did two things."""
    known = acts[word, before]
    acts[word, before] = found
    return bool(((known == UNSEEN) | (known == found)).all() and (acts[word, before] == found).all())


@dataclass(frozen=True)
class BlockMachine:
    """`states` (S, K) that a block can come into, `start` among them, and `table[situation, state]`, the state after it."""

    states: Tensor
    start: int
    table: np.ndarray


def block_machines(held: Stack) -> list[BlockMachine]:
    linear, start = moves_of(held), held.blocks[-1].mixer.init_state(1)[0].double()
    return [closure(linear[:, place].numpy(), start[place].numpy()) for place in range(linear.shape[1])]


@torch.no_grad()
def moves_of(held: Stack) -> Tensor:
    """(situations, N, K, K): the matrices of zeros and ones by which the last layer moves its state.

    ValueError for a layer that computes.
    """
    outputs, block = held.blocks[0].mixer.outputs, held.blocks[-1]
    exact = copy.deepcopy(block).double()
    linear, drive = read_maps(exact.mixer, exact.norm(outputs.double()))
    if drive.any() or not ((linear == 0) | (linear == 1)).all():
        raise ValueError(
            f"{block.mixer.name}: computes with its state; hardening of several layers wants a last one that moves it, such as selection"
        )
    return linear


def closure(linear: np.ndarray, start: np.ndarray) -> BlockMachine:
    """All states that maps (n, K, K) lead to from the start (K,), which is the first."""
    states, places = [start], {start.tobytes(): 0}
    frontier = states
    while frontier:
        frontier = [image for image in images(linear, frontier) if image.tobytes() not in places]
        places |= {image.tobytes(): len(states) + number for number, image in enumerate(frontier)}
        states = states + frontier
        if len(states) > BLOCK_STATES:
            raise ValueError(f"the machine of a held stack: a block has more than {BLOCK_STATES:,} states")
    table = np.stack([[places[image.tobytes()] for image in moved(linear, state)] for state in states], axis=1)
    return BlockMachine(torch.from_numpy(np.stack(states)), 0, table)


def moved(linear: np.ndarray, state: np.ndarray) -> np.ndarray:
    """(n, K): what each map makes of a state; + 0.0, since -0.0 is the same number in other bits."""
    return linear @ state + 0.0


def images(linear: np.ndarray, states: list[np.ndarray]) -> list[np.ndarray]:
    """The different states that follow some."""
    return list(np.unique(np.concatenate([moved(linear, state) for state in states]), axis=0))


class Digits:
    """Numbers whose digits have bases of their own."""

    def __init__(self, bases: list[int]) -> None:
        self.bases, self.size = bases, 1
        for base in bases:
            self.size *= base

    def number(self, digits: np.ndarray) -> np.ndarray:
        found = np.zeros(len(digits), np.int64)
        for place, base in enumerate(self.bases):
            found = found * base + digits[:, place]
        return found


class Answers:
    """What a held stack answers after a situation, in a state; the smallest gap so far, and ten times the largest error seen."""

    def __init__(self, held: Stack, blocks: list[BlockMachine], joint: Digits) -> None:
        self.held, self.exact, self.joint = held, copy.deepcopy(held).double(), joint
        self.outputs, self.states = held.blocks[0].mixer.outputs, [block.states for block in blocks]
        self.margin, self.allowance = float("inf"), 0.0

    def __call__(self, situation: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """(M,) from situations (M,) and the blocks' states (M, N); each pair is asked once."""
        _, places, back = np.unique(situation * self.joint.size + self.joint.number(parts), return_index=True, return_inverse=True)
        pieces = [places[first : first + AT_ONCE] for first in range(0, len(places), AT_ONCE)]
        return np.concatenate([self._of(situation[piece], parts[piece], piece is pieces[0]) for piece in pieces])[back]

    def _of(self, situation: np.ndarray, parts: np.ndarray, compare: bool) -> np.ndarray:
        state = torch.cat([states[part] for states, part in zip(self.states, torch.from_numpy(parts).unbind(1), strict=True)], dim=1)
        before = self.outputs[torch.from_numpy(situation)].double() + state
        logits = read_out(self.held, before.to(self.outputs.dtype))[0]
        if compare:
            self.allowance = max(self.allowance, ALLOWANCE * float((read_out(self.exact, before)[0] - logits).abs().max()))
        top = logits.topk(2, dim=-1)
        self.margin = min(self.margin, float((top.values[:, 0] - top.values[:, 1]).min()))
        return top.indices[:, 0].numpy()
