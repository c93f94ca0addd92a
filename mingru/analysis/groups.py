"""Whether a table is that of a group, and of which one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Group:
    """`element_orders`: how many elements have which order."""

    order: int
    identity: int
    abelian: bool
    element_orders: dict[int, int]

    def __str__(self) -> str:
        orders = ", ".join(f"{count} of order {order}" for order, count in sorted(self.element_orders.items()))
        return f"{'abelian' if self.abelian else 'non-abelian'} group of order {self.order}: {orders}"


def fault(table: Tensor) -> str | None:
    """Why a closed table (n, n) is not that of a group; None where it is. Associativity is decided exactly."""
    n = len(table)
    elements = torch.arange(n)
    if not all(bool((table.sort(dim=axis).values.movedim(axis, -1) == elements).all()) for axis in (0, 1)):
        return "not a Latin square"
    if identity(table) is None:
        return "no element leaves all others unchanged"
    if not associative(table):
        return "not associative"
    return None


def identity(table: Tensor) -> int | None:
    elements = torch.arange(len(table))
    neutral = (table == elements).all(dim=1) & (table == elements.unsqueeze(1)).all(dim=0)
    return int(neutral.nonzero()[0, 0]) if neutral.any() else None


def associative(table: Tensor) -> bool:
    """Light's test: the elements that associate from the middle are closed under products, so it is enough to try generators."""
    reached = torch.zeros(len(table), dtype=torch.bool)
    while not reached.all():
        middle = int((~reached).nonzero()[0, 0])
        if not torch.equal(table[table[:, middle]], table[:, table[middle]]):
            return False
        reached[middle] = True
        while not bool(reached[products := table[reached][:, reached]].all()):
            reached[products.flatten()] = True
    return True


def describe(table: Tensor) -> Group:
    """What a group's table tells; ValueError where it is not one."""
    why = fault(table)
    if why is not None:
        raise ValueError(f"the table is not that of a group: {why}")
    neutral, elements = identity(table), torch.arange(len(table))
    power, orders = elements.clone(), torch.ones_like(elements)
    while not bool((power == neutral).all()):
        orders += power != neutral
        # Who has come back to the identity stays there.
        power = torch.where(power == neutral, power, table[elements, power])
    return Group(len(table), neutral, torch.equal(table, table.T), dict(Counter(orders.tolist())))
