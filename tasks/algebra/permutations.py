"""Groups of permutations."""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

from tasks.algebra.cayley import LARGEST_TABLE, CayleyTable

Permutation = tuple[int, ...]


def compose(p: Permutation, q: Permutation) -> Permutation:
    """p after q: i goes to p[q[i]]."""
    return tuple(p[i] for i in q)


def permutation_group(elements: Sequence[Sequence[int]]) -> CayleyTable:
    """The group formed by these permutations, numbered in the order given; ValueError unless they form one, identity first."""
    points = [tuple(int(i) for i in element) for element in elements]
    for p in points:
        if sorted(p) != list(range(len(points[0]))):
            raise ValueError(f"{list(p)} is not a permutation of 0..{len(points[0]) - 1}")
    number = {p: i for i, p in enumerate(points)}
    if len(number) < len(points):
        raise ValueError(f"{list(next(p for i, p in enumerate(points) if number[p] != i))} is listed twice")
    missing = next(((p, q) for p in points for q in points if compose(p, q) not in number), None)
    if missing:
        p, q = missing
        raise ValueError(f"not closed: {list(p)} after {list(q)} is {list(compose(p, q))}, which is not listed")
    return CayleyTable([[number[compose(p, q)] for q in points] for p in points])


def symmetric_group(degree: int) -> CayleyTable:
    """S_n: all permutations of 0..n-1 in lexicographic order, so that element 0 is the identity."""
    if degree < 1 or factorial(degree) > LARGEST_TABLE:
        raise ValueError(f"a symmetric group with a table has degree 1 to 6, got {degree}")
    return permutation_group(list(permutations(range(degree))))
