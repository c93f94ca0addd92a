"""All subgroups of a small group."""

import functools

import numpy as np

from tasks.algebra.cayley import tabulated
from tasks.algebra.structure import Subset, subgroup
from tasks.algebra.transitions import Group, Indices

LARGEST_ORDER = 120


@functools.cache
def subgroups(group: Group) -> tuple[Subset, ...]:
    """Every subgroup, as a mask over the elements, small ones first. ValueError above order 120.

    A subgroup that is not trivial is one already found joined with one more element, and of a coset of it any element will do.
    """
    if group.order > LARGEST_ORDER:
        raise ValueError(f"subgroups are listed for groups up to order {LARGEST_ORDER}, got {group.order}")
    group = tabulated(group)
    trivial = np.arange(group.order) == 0
    generators: dict[bytes, list[int]] = {trivial.tobytes(): []}
    found = [trivial]
    for mask in found:
        known = generators[mask.tobytes()]
        for element in _coset_representatives(group, mask):
            joined = subgroup(group, [*known, element])
            if (key := joined.tobytes()) not in generators:
                generators[key] = [*known, element]
                found.append(joined)
    return tuple(sorted(found, key=lambda mask: (int(mask.sum()), mask.tobytes()[::-1])))


def is_normal(group: Group, mask: Subset) -> bool:
    """Whether left and right cosets agree."""
    members, everything = np.flatnonzero(mask), np.arange(group.order)[:, None]
    left, right = group.step(everything, members), group.step(members, everything)
    return bool((np.sort(left, axis=1) == np.sort(right, axis=1)).all())


def _coset_representatives(group: Group, mask: Subset) -> Indices:
    """One element of every coset xH but H itself: the least."""
    cosets = group.step(np.arange(group.order)[:, None], np.flatnonzero(mask)).min(axis=1)
    return np.unique(cosets[cosets != 0])
