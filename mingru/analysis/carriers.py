"""A flat model whose layer only moves its state about, as a finite machine of the fewest blocks that give every answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from mingru.analysis.answers import read_answers
from mingru.analysis.held import Held, begin_midway, hold, moved_by
from mingru.analysis.layered import Layered
from mingru.analysis.machine import explore, only_moves
from mingru.analysis.maps import Maps, read_flat, token_inputs, with_maps
from mingru.stack import Stack

# Random words over which a block's mean is taken; the most sets of blocks that are tried, and states of the machine of one of them.
WORDS, SETS, STATES = 512, 64, 2**15


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
    mean, inputs = mean_state(begun, length), token_inputs(stack)
    for carriers in itertools.islice(sets(begun.stack.blocks[-1].mixer.start), SETS):
        tried = only(begun, carriers, mean)
        try:
            machine = explore(tried, spelling, STATES, whole=False)
        except ValueError:
            continue
        found = Layered(tried, spelling, with_maps(stack, inputs, tried.learned), machine, None, carriers)
        if found.right:
            return found
    return None


def sets(state: Tensor) -> Iterator[tuple[int, ...]]:
    """Of the blocks of a state (N, K) that keep several entries apart, every set, the smallest first."""
    apart = ((state != 0).sum(-1) > 1).nonzero().flatten().tolist()
    for size in range(1, len(apart) + 1):
        yield from itertools.combinations(apart, size)


@torch.no_grad()
def mean_state(held: Held, length: int) -> Tensor:
    """(N, K): the mean of the last layer's states over random words of `length` tokens, in float64."""
    layer = held.stack.blocks[-1].mixer
    words = torch.randint(held.situations.n_tokens, (WORDS, length), generator=torch.Generator().manual_seed(0))
    after = layer.start.expand(WORDS, -1, -1)
    total = torch.zeros_like(layer.start)
    for tokens in words.unbind(1):
        after = (layer.linear[tokens] @ after.unsqueeze(-1)).squeeze(-1)
        total += after.mean(0)
    return total / length


def only(held: Held, carriers: Sequence[int], mean: Tensor) -> Held:
    """All blocks but the carriers are at their mean, where every token leaves them."""
    layer = held.stack.blocks[-1].mixer
    linear, start = torch.eye(layer.linear.shape[-1]).to(layer.linear).expand_as(layer.linear).clone(), mean.clone()
    linear[:, list(carriers)], start[list(carriers)] = layer.linear[:, list(carriers)], layer.start[list(carriers)]
    maps = Maps(linear, layer.drive, start)
    return replace(held, stack=moved_by(held.stack, maps), learned=maps)
