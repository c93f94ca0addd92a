"""Which groups act on a plane or in space, and what of a group such actions can tell."""

import numpy as np

from tasks.algebra.cayley import CayleyTable
from tasks.algebra.structure import Subset, element_orders, structure
from tasks.algebra.subgroups import is_normal, subgroups
from tasks.algebra.transitions import Group


def quotient(group: Group, normal: Subset) -> CayleyTable:
    """G/N, its elements numbered by the least member of each coset, so that N itself is the identity."""
    least = group.step(np.arange(group.order)[:, None], np.flatnonzero(normal)).min(axis=1)
    cosets, number = np.unique(least, return_inverse=True)
    return CayleyTable.known(number[group.step(cosets[:, None], cosets)])


def rotation_order(group: Group) -> int | None:
    """The number of rotations in a group of symmetries of the plane like this one; None where there is none.

    Those groups are the cyclic ones, and the dihedral ones: a cyclic subgroup of index 2 that any other element inverts.
    """
    orders, half = element_orders(group), group.order // 2
    if orders.max() == group.order:
        return group.order
    turn, others = int(np.argmax(orders)), np.flatnonzero(orders == 2)
    if group.order % 2 or orders[turn] < half:
        return None
    # Both x a x = a^-1, which is to say that xa is an involution, and x itself one.
    flips = others[group.step(group.step(others, np.full(len(others), turn)), group.step(others, np.full(len(others), turn))) == 0]
    outside = [x for x in flips if orders[turn] <= 2 or x not in _powers(group, turn)]
    return half if outside else None


def _powers(group: Group, element: int) -> set[int]:
    powers, power = {0}, element
    while power not in powers:
        powers.add(power)
        power = int(group.step(np.array(element), np.array(power)))
    return powers


def is_planar(group: Group, rotations: tuple[int, ...] | None = None) -> bool:
    """Whether the group acts faithfully on several planes at once, each by symmetries of a regular polygon.

    That is: the normal subgroups whose quotients are cyclic or dihedral have nothing but the identity in common. `rotations` restricts the
    number of rotations of each. ValueError above order 120.
    """
    common = np.ones(group.order, bool)
    for mask in subgroups(group):
        if is_normal(group, mask):
            turns = rotation_order(quotient(group, mask))
            if turns is not None and (rotations is None or turns in rotations):
                common &= mask
    return int(common.sum()) == 1


def is_spatial(group: Group) -> bool:
    """Whether the group is one of rotations of space: cyclic, dihedral, A4, S4 or A5."""
    if rotation_order(group) is not None:
        return True
    solids = {(12, 4, 1), (24, 12, 4, 1), (60,)}
    return group.order in (12, 24, 60) and structure(group).derived_series in solids
