"""A held stack whose last layer only moves numbers about is a finite machine: all that it can ever do is looked at."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mingru.analysis.answers import Spelling
from mingru.analysis.held import Held
from mingru.analysis.maps import Maps
from mingru.analysis.rest import ALLOWANCE, Answers, read_out
from mingru.mixers.hardened import Hardened
from mingru.stack import Stack

# States of one block, states of the machine; pairs of situation and state that are followed at once, and that are answered at once.
BLOCK_STATES, STATES, FOLLOWED, AT_ONCE = 2**14, 2**23, 2**22, 2**14


@dataclass(frozen=True)
class Machine:
    """All `states` that it can come into, and its `answers` to each token in each of them.

    The margin of the answers is less an allowance for rounding: ten times the largest difference seen between float32 and float64.
    """

    states: int
    answers: Answers


def only_moves(maps: Maps) -> bool:
    """Whether nothing is computed: maps are matrices of zeros and ones, and nothing is added."""
    return not maps.drive.any() and bool(((maps.linear == 0) | (maps.linear == 1)).all())


@torch.no_grad()
def explore(held: Held, spelling: Spelling, blocks: list[BlockMachine] | None = None, most: int = STATES, whole: bool = True) -> Machine:
    """Every state that the machine can come into, from its start, by every token; an answer is right if it is the product so far.

    `blocks` are what the last layer's are to be taken for, if not for themselves. If not `whole` it ends where answers are wrong.
    ValueError where there are more than `most` states.
    """
    situations, classes = held.situations, len(spelling.table)
    blocks = block_machines(held.stack.blocks[-1].mixer) if blocks is None else blocks
    n, bases = situations.n_tokens, [len(block.states) for block in blocks]
    if max(len(situations), situations.nodes * classes) * math.prod(bases) > np.iinfo(np.int64).max:
        raise ValueError("the machine of a held stack: its blocks have too many states to number")
    after, products = situations.after.numpy(), situations.products(spelling.elements, spelling.table).numpy()
    asked, rows = Asked(held.stack, blocks), max(1, FOLLOWED // n)
    node, product, parts = np.array([held.start]), np.array([spelling.identity]), np.zeros((1, len(blocks)), np.int64)
    seen, wrong = np.ravel_multi_index((node, product, *parts.T), (situations.nodes, classes, *bases)), 0
    while len(node):
        fresh = []
        for first in range(0, len(node), rows):
            now, so_far, of_blocks = (np.repeat(each[first : first + rows], n, axis=0) for each in (node, product, parts))
            situation = now * n + np.tile(np.arange(n), len(now) // n)
            of_blocks = np.stack([block.table[situation, of_blocks[:, place]] for place, block in enumerate(blocks)], axis=1)
            now, so_far = after[situation], products[situation, so_far]
            wrong += int((asked(situation, of_blocks) != so_far).sum())
            numbers = np.ravel_multi_index((now, so_far, *of_blocks.T), (situations.nodes, classes, *bases))
            numbers, places = np.unique(numbers, return_index=True)
            unseen = ~np.isin(numbers, seen, assume_unique=True)
            new, seen = places[unseen], np.sort(np.concatenate([seen, numbers[unseen]]))
            if len(seen) > most:
                raise ValueError(f"the machine of a held stack: has more than {most:,} states")
            fresh.append((now[new], so_far[new], of_blocks[new]))
        if wrong and not whole:
            break
        node, product, parts = (np.concatenate(each) for each in zip(*fresh, strict=True))
    return Machine(len(seen), Answers(len(seen) * n, wrong, asked.margin - asked.allowance))


@dataclass(frozen=True)
class BlockMachine:
    """`states` (S, K) that a block can come into, its start first, and `table[situation, state]`, the state after it."""

    states: Tensor
    table: np.ndarray


def block_machines(layer: Hardened) -> list[BlockMachine]:
    return [block_machine(layer, place) for place in range(len(layer.start))]


def block_machine(layer: Hardened, place: int) -> BlockMachine:
    """ValueError where it has too many states."""
    return closure(layer.linear[:, place].numpy(), layer.start[place].to(layer.state_dtype).double().numpy())


def closure(linear: np.ndarray, start: np.ndarray) -> BlockMachine:
    """All states that maps (n, K, K) lead to from the start (K,)."""
    states, places = [start], {start.tobytes(): 0}
    frontier = states
    while frontier:
        frontier = [image for image in images(linear, frontier) if image.tobytes() not in places]
        places |= {image.tobytes(): len(states) + number for number, image in enumerate(frontier)}
        states = states + frontier
        if len(states) > BLOCK_STATES:
            raise ValueError(f"the machine of a held stack: a block has more than {BLOCK_STATES:,} states")
    table = np.stack([[places[image.tobytes()] for image in moved(linear, state)] for state in states], axis=1)
    return BlockMachine(torch.from_numpy(np.stack(states)), table)


def moved(linear: np.ndarray, state: np.ndarray) -> np.ndarray:
    """(n, K): what each map makes of a state; + 0.0, since -0.0 is the same number in other bits."""
    return linear @ state + 0.0


def images(linear: np.ndarray, states: list[np.ndarray]) -> list[np.ndarray]:
    """The different states that follow some."""
    return list(np.unique(np.concatenate([moved(linear, state) for state in states]), axis=0))


class Asked:
    """What a held stack answers after a situation, in a state; the smallest gap so far, and ten times the largest error seen."""

    def __init__(self, held: Stack, blocks: list[BlockMachine]) -> None:
        self.held, self.exact = held, copy.deepcopy(held).double()
        self.outputs, self.states = held.blocks[0].mixer.outputs, [block.states for block in blocks]
        self.margin, self.allowance = float("inf"), 0.0

    def __call__(self, situation: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """(M,) from situations (M,) and the blocks' states (M, N); each pair is asked once."""
        numbers = np.ravel_multi_index((situation, *parts.T), (len(self.outputs), *map(len, self.states)))
        _, places, back = np.unique(numbers, return_index=True, return_inverse=True)
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
