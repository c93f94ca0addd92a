"""Groups of permutations."""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np

from tasks.algebra.cayley import LARGEST_TABLE, CayleyTable


def permutation_group(elements: Sequence[Sequence[int]]) -> CayleyTable:
    """The group of these permutations of 0..d-1, numbered as listed, the identity first; entry i of each is where point i goes.

    ab is a after b: point i goes to a[b[i]]. ValueError unless they are permutations and form a group.
    """
    degree = len(elements[0]) if elements else 0
    wrong = next((each for each in elements if sorted(each) != list(range(degree))), None)
    if not degree or wrong is not None:
        raise ValueError(f"a permutation lists each of 0..{max(degree - 1, 0)} once, got {wrong}")
    points = np.array([list(each) for each in elements], np.min_scalar_type(degree))
    number = {each.tobytes(): i for i, each in enumerate(points)}
    if len(number) < len(points):
        twice = next(each for i, each in enumerate(points) if number[each.tobytes()] != i)
        raise ValueError(f"permutation {twice.tolist()} is listed twice")
    return CayleyTable([_row(a, points, number) for a in points])


def _row(a: np.ndarray, points: np.ndarray, number: dict[bytes, int]) -> list[int]:
    """The numbers of ab for every b."""
    products = a[points]
    row = [number.get(each.tobytes()) for each in products]
    if None in row:
        b = row.index(None)
        raise ValueError(f"not closed: {a.tolist()} after {points[b].tolist()} is {products[b].tolist()}, which is not listed")
    return row


def symmetric_group(degree: int) -> CayleyTable:
    """S_n: all permutations of 0..n-1 in lexicographic order, so that element 0 is the identity."""
    if degree < 1 or factorial(degree) > LARGEST_TABLE:
        raise ValueError(f"a symmetric group with a table has degree 1 to 6, got {degree}")
    return permutation_group(list(permutations(range(degree))))
