"""The multiplication table as the weights have it, read without labels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.analysis import groups
from mingru.analysis.maps import Maps
from mingru.analysis.states import averaged

ROUNDS = 64


@dataclass(frozen=True)
class Reading:
    """`table[x, h]`: the token whose state is nearest to what x makes of the state of h; `fault` says why it is no group's, None if it is.

    `margin` is the smallest of (second nearest - nearest) / second nearest over all pairs: 1 where every product falls on a state, 0
    where one lies halfway between two.
    """

    table: Tensor
    fault: str | None
    margin: float
    rounds: int


def read_table(maps: Maps) -> Reading:
    """Every token is taken for an element, whose state is at first the one after that token alone.

    Each product, token x in the state of h, goes to the nearest state; then each state becomes the mean of the products that went to
    it; and so on until no product goes elsewhere. What a block remembers of single tokens averages out: only what all words with
    one product agree on stays.
    """
    states, rounds, settled = maps.after_first(), 0, False
    table, margin = nearest(maps, states)
    while not settled and rounds < ROUNDS:
        states, before = averaged(maps, states, table), table
        table, margin = nearest(maps, states)
        settled, rounds = torch.equal(table, before), rounds + 1
    return Reading(table, groups.fault(table), margin, rounds)


def nearest(maps: Maps, states: Tensor) -> tuple[Tensor, float]:
    """Of each product the element whose state is nearest, and the smallest margin."""
    found, smallest = [], 1.0
    for _, images in maps.images(states):
        for products in images.flatten(2):
            near = torch.cdist(products, states.flatten(1)).topk(min(2, len(states)), dim=-1, largest=False)
            margins = 1 - near.values[:, 0] / near.values[:, -1].clamp(min=torch.finfo(states.dtype).tiny)
            found.append(near.indices[:, 0])
            smallest = min(smallest, float(margins.min()))
    return torch.stack(found), smallest
