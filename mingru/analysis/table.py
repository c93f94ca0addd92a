"""The multiplication table as the weights have it, read without labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from mingru.analysis import groups
from mingru.analysis.maps import Maps
from mingru.analysis.states import averaged

ROUNDS = 64


@dataclass(frozen=True)
class Reading:
    """`table[x, h]`: the token whose state is nearest to what x makes of the state of h; `fault` says why it is no group's, None if it is.

    `margin` is the smallest of (second nearest - nearest) / second nearest over all pairs: 1 where every product falls on a state, 0
    where one lies halfway between two. `assigned` products were given another state than the nearest, which a token's other product has.
    """

    table: Tensor
    fault: str | None
    margin: float
    assigned: int
    rounds: int


def read_table(maps: Maps) -> Reading:
    """Every token is taken for an element, whose state is at first the one after that token alone.

    Each product, token x in the state of h, goes to the nearest state; then each state becomes the mean of the products that went to
    it; and so on until no product goes elsewhere. What a block remembers of single tokens averages out: only what all words with
    one product agree on stays. If the table is then no group's, each token's products are given to the states one to one, by the least
    sum of squared distances (in a group a token takes no two elements to the same one), and it goes on from there.
    """
    states, rounds = maps.after_first(), 0
    for place in (nearest, one_to_one):
        states, table, more = settled(maps, states, place)
        rounds += more
        if (fault := groups.fault(table)) is None:
            break
    return Reading(table, fault, *told_apart(maps, states, table), rounds)


def settled(maps: Maps, states: Tensor, place: Callable[[Maps, Tensor], Tensor]) -> tuple[Tensor, Tensor, int]:
    """The states and the table when no product goes elsewhere, and the rounds that this took."""
    table, before, rounds = place(maps, states), None, 0
    while rounds < ROUNDS and (before is None or not torch.equal(table, before)):
        states, before = averaged(maps, states, table), table
        table, rounds = place(maps, states), rounds + 1
    return states, table, rounds


def distances(maps: Maps, states: Tensor) -> Iterator[Tensor]:
    """For each token (n, n): how far from each state its product with each state is."""
    for _, images in maps.images(states):
        for products in images.flatten(2):
            yield torch.cdist(products, states.flatten(1))


def nearest(maps: Maps, states: Tensor) -> Tensor:
    return torch.stack([far.argmin(dim=-1) for far in distances(maps, states)])


def one_to_one(maps: Maps, states: Tensor) -> Tensor:
    return torch.stack([torch.from_numpy(linear_sum_assignment(far.square().numpy())[1]) for far in distances(maps, states)])


def told_apart(maps: Maps, states: Tensor, table: Tensor) -> tuple[float, int]:
    """The smallest margin, and how many products have another state in the table than the nearest."""
    smallest, assigned = 1.0, 0
    for far, given in zip(distances(maps, states), table, strict=True):
        near = far.topk(min(2, len(states)), dim=-1, largest=False)
        margins = 1 - near.values[:, 0] / near.values[:, -1].clamp(min=torch.finfo(far.dtype).tiny)
        smallest, assigned = min(smallest, float(margins.min())), assigned + int((given != near.indices[:, 0]).sum())
    return smallest, assigned
