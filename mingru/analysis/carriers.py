"""A flat model whose layer only moves its state about, as a finite machine of the fewest blocks that give every answer."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from mingru.analysis.answers import read_answers
from mingru.analysis.choices import apart
from mingru.analysis.held import begin_midway, hold, moved_by
from mingru.analysis.layered import Layered
from mingru.analysis.machine import BlockMachine, block_machine, explore, only_moves
from mingru.analysis.maps import Maps, read_flat, token_inputs, with_maps
from mingru.analysis.states import mean_states
from mingru.mixers.hardened import Hardened
from mingru.stack import Stack

# The most sets of blocks that are tried, and states of the machine of one of them.
SETS, STATES = 64, 2**15


def harden_moves(stack: Stack, length: int) -> Layered | None:
    """The machine next to this model: a few blocks move as they were learned to, and the others are held at their mean.

    A block in which all entries have met tells of the last tokens and no more. Of the others SETS sets are tried, from the smallest on, and
    the first that is right in every state is returned. None for a layer that computes, for answers of no group, and if none is right.
    """
    if stack.blocks[0].norm is None or not only_moves(read_flat(stack)):
        return None
    held = hold(stack.eval(), 1, length)
    spelling = read_answers(stack, held.situations)
    if spelling.fault is not None:
        return None
    begun = begin_midway(held, length)
    layer = begun.stack.blocks[-1].mixer
    moves = Maps(layer.linear, layer.drive, layer.start)
    # Whatever the product, and so that of all words.
    mean = mean_states(moves, held.situations.products(spelling.elements, spelling.table), length).mean(0)
    moving, still = machines_apart(layer), [BlockMachine(state, np.zeros((moves.n_tokens, 1), np.int64)) for state in mean.split(1)]
    for carriers in itertools.islice(sets(moving), SETS):
        blocks = [moving[place] if place in carriers else at_mean for place, at_mean in enumerate(still)]
        try:
            machine = explore(begun, spelling, blocks, STATES, whole=False)
        except ValueError:
            continue
        if machine.answers.right:
            maps = only(moves, carriers, mean)
            exact = replace(begun, stack=moved_by(begun.stack, maps), learned=maps)
            return Layered(exact, spelling, with_maps(stack, token_inputs(stack), maps), machine, None, carriers)
    return None


def machines_apart(layer: Hardened) -> dict[int, BlockMachine]:
    """Of the blocks that keep several entries apart, those that are machines of not too many states."""
    found = {}
    for place, state in enumerate(layer.start):
        if apart(state) > 1:
            with contextlib.suppress(ValueError):
                found[place] = block_machine(layer, place)
    return found


def sets(blocks: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Every set of them but the empty one, the smallest first."""
    every = list(blocks)
    return itertools.chain.from_iterable(itertools.combinations(every, size) for size in range(1, len(every) + 1))


def only(moves: Maps, carriers: Sequence[int], mean: Tensor) -> Maps:
    """All blocks but the carriers are at their mean, where every token leaves them."""
    carried = list(carriers)
    linear, start = torch.eye(moves.block_size).to(moves.linear).expand_as(moves.linear).clone(), mean.clone()
    linear[:, carried], start[carried] = moves.linear[:, carried], moves.start[carried]
    return Maps(linear, moves.drive, start)
