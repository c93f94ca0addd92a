"""Groups of permutations."""

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np

from tasks.algebra.cayley import CayleyTable, tabulated
from tasks.algebra.transitions import Group, Indices, check_tokens

LARGEST_GROUP = 20_000


class Permutations:
    """A group whose products are worked out: row a of `points` says where each point goes, ab is a after b.

    Elements are told apart by the images of a few points, the base. The rows must form a group, its identity first.
    """

    def __init__(self, points: Indices) -> None:
        self.points = points
        self.order = self.n_tokens = self.n_states = len(points)
        self.base = _base(points)
        keys = _hash(points[:, self.base])
        self._numbers = np.argsort(keys)
        self._sorted = keys[self._numbers]

    def step(self, token: Indices, state: Indices) -> Indices:
        token, state = np.broadcast_arrays(token, state)
        return self._find(self.points[token[..., None], self.points[state[..., None], self.base]])

    def run(self, tokens: Indices) -> Indices:
        check_tokens(tokens, self.order)
        images = np.empty((*tokens.shape, len(self.base)), self.points.dtype)
        now = np.broadcast_to(np.asarray(self.base, self.points.dtype), images[:, 0].shape)
        for t in range(tokens.shape[1]):
            now = images[:, t] = self.points[tokens[:, t, None], now]
        return self._find(images)

    def _find(self, images: Indices) -> Indices:
        return self._numbers[np.searchsorted(self._sorted, _hash(images))]


def _hash(images: Indices) -> np.ndarray:
    """One number per row of images; sums wrap around, and `_base` makes sure that no two elements get the same."""
    # Powers of an odd constant: the fractional part of the golden ratio in 64 bits.
    weights = np.cumprod(np.full(images.shape[-1], 0x9E3779B97F4A7C15, np.uint64))
    return (images.astype(np.uint64) * weights).sum(-1, dtype=np.uint64)


def _base(points: Indices) -> list[int]:
    """Points whose images tell every element apart: each the first that tells more of them apart."""
    base: list[int] = []
    apart = 1
    for point in range(points.shape[1]):
        found = len(np.unique(_hash(points[:, [*base, point]])))
        if found > apart:
            base, apart = [*base, point], found
    if apart < len(points):
        raise ValueError(f"permutations: {len(points)} are listed, but only {apart} of them are different")
    return base


def permutation_group(elements: Sequence[Sequence[int]]) -> CayleyTable:
    """The group of these permutations of 0..d-1, numbered as listed, the identity first; entry i of each is where point i goes.

    ab is a after b: point i goes to a[b[i]]. ValueError unless they are permutations and form a group.
    """
    points = as_permutations(elements)
    number = {each.tobytes(): i for i, each in enumerate(points)}
    if len(number) < len(points):
        twice = next(each for i, each in enumerate(points) if number[each.tobytes()] != i)
        raise ValueError(f"permutation {twice.tolist()} is listed twice")
    return CayleyTable([_row(a, points, number) for a in points])


def as_permutations(elements: Sequence[Sequence[int]]) -> Indices:
    """One row per permutation; ValueError naming one that is none."""
    degree = len(elements[0]) if len(elements) else 0
    wrong = next((list(each) for each in elements if sorted(each) != list(range(degree))), None)
    if not degree or wrong is not None:
        raise ValueError(f"a permutation lists each of 0..{max(degree - 1, 0)} once, got {wrong}")
    return np.array([list(each) for each in elements], np.min_scalar_type(degree))


def _row(a: np.ndarray, points: np.ndarray, number: dict[bytes, int]) -> list[int]:
    """The numbers of ab for every b."""
    products = a[points]
    row = [number.get(each.tobytes()) for each in products]
    if None in row:
        b = row.index(None)
        raise ValueError(f"not closed: {a.tolist()} after {points[b].tolist()} is {products[b].tolist()}, which is not listed")
    return row


def generated_group(generators: Sequence[Sequence[int]]) -> Group:
    """The group that these permutations of 0..d-1 generate, breadth first: the identity, the generators, their products ...

    ValueError when it has more than 20,000 elements.
    """
    return tabulated(Permutations(closure(as_permutations(generators))))


def closure(generators: Indices) -> Indices:
    """Every product of the permutations, each reached by the fewest factors, the identity first."""
    identity = np.arange(generators.shape[1], dtype=generators.dtype)
    found, latest = {identity.tobytes(): identity}, identity[None]
    while len(latest):
        new = {}
        for product in np.concatenate([g[latest] for g in generators]):
            if (key := product.tobytes()) not in found:
                new[key] = product
        found |= new
        if len(found) > LARGEST_GROUP:
            raise ValueError(f"the generators give more than {LARGEST_GROUP} elements")
        latest = np.array(list(new.values()), generators.dtype)
    return np.array(list(found.values()))


def symmetric_group(degree: int) -> Group:
    """S_n: all permutations of 0..n-1 in lexicographic order, so that element 0 is the identity."""
    return tabulated(Permutations(symmetric_points(degree)))


def alternating_group(degree: int) -> Group:
    """A_n: the even ones of these, in the same order."""
    return tabulated(Permutations(alternating_points(degree)))


def symmetric_points(degree: int) -> Indices:
    if degree < 1 or factorial(degree) > LARGEST_GROUP:
        raise ValueError(f"a symmetric group has degree 1 to 7, got {degree}")
    return np.array(list(permutations(range(degree))), np.uint8)


def alternating_points(degree: int) -> Indices:
    if degree < 1 or factorial(degree) > 2 * LARGEST_GROUP:
        raise ValueError(f"an alternating group has degree 1 to 7, got {degree}")
    points = symmetric_points(degree)
    crossings = sum((points[:, i] > points[:, j]).astype(int) for i in range(degree) for j in range(i + 1, degree))
    return points[np.broadcast_to(crossings % 2 == 0, len(points))]
