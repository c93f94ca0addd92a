"""What kind of group a group is, from products alone."""

import functools
import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tasks.algebra.transitions import Group, Indices

Subset = NDArray[np.bool_]


@dataclass(frozen=True)
class Structure:
    """`derived_series`: orders of G, [G, G], ..., each less than the one before. `abelianisation`: invariant factors of G/[G, G]."""

    order: int
    exponent: int
    derived_series: tuple[int, ...]
    abelianisation: tuple[int, ...]

    @property
    def is_solvable(self) -> bool:
        return self.derived_series[-1] == 1

    @property
    def is_abelian(self) -> bool:
        return self.is_solvable and len(self.derived_series) <= 2

    @property
    def derived_length(self) -> int | None:
        """Abelian factors of the derived series; None for a group that is not solvable."""
        return len(self.derived_series) - 1 if self.is_solvable else None


@functools.cache
def structure(group: Group) -> Structure:
    series = derived_series(group)
    derived = series[1] if len(series) > 1 else series[0]
    return Structure(group.order, exponent(group), tuple(int(s.sum()) for s in series), quotient_factors(group, derived))


def subgroup(group: Group, generators: Indices | list[int]) -> Subset:
    """The smallest subgroup with these elements, as a mask over the group's."""
    factors = np.asarray(generators, np.int64)[:, None]
    reached = np.zeros(group.order, bool)
    reached[0] = True
    latest = np.array([0])
    while len(latest):
        new = np.zeros(group.order, bool)
        new[group.step(factors, latest)] = True
        latest = np.flatnonzero(new & ~reached)
        reached[latest] = True
    return reached


def generating_set(group: Group) -> list[int]:
    """Elements that generate the group: each the first that those before it do not reach."""
    generators: list[int] = []
    reached = subgroup(group, generators)
    while not reached.all():
        generators.append(int(np.argmin(reached)))
        reached = subgroup(group, generators)
    return generators


def power(group: Group, elements: Indices, exponents: int) -> Indices:
    result = np.zeros_like(elements)
    while exponents:
        if exponents % 2:
            result = group.step(elements, result)
        elements, exponents = group.step(elements, elements), exponents // 2
    return result


def inverses(group: Group) -> Indices:
    """The inverse of every element."""
    return power(group, np.arange(group.order), exponent(group) - 1)


def element_orders(group: Group) -> Indices:
    """The order of every element; it divides the group's."""
    orders = np.full(group.order, group.order)
    for prime in prime_factors(group.order):
        while True:
            candidates = np.flatnonzero(orders % prime == 0)
            smaller = [c for c in _split(orders, candidates) if len(c)]
            kept = np.concatenate([c[power(group, c, int(orders[c[0]]) // prime) == 0] for c in smaller] or [candidates[:0]])
            if not len(kept):
                break
            orders[kept] //= prime
    return orders


def _split(orders: Indices, elements: Indices) -> list[Indices]:
    """The elements by their entry in `orders`."""
    return [elements[orders[elements] == value] for value in np.unique(orders[elements])]


def exponent(group: Group) -> int:
    """The least common multiple of the orders of the elements."""
    return math.lcm(*(int(order) for order in np.unique(element_orders(group))))


def derived_series(group: Group) -> list[Subset]:
    """G, then the commutators of the one before, until that changes nothing."""
    series = [np.ones(group.order, bool)]
    generators = generating_set(group)
    inverse = inverses(group)
    while True:
        generators = _commutators(group, generators, inverse)
        series.append(subgroup(group, generators))
        if series[-1].sum() == series[-2].sum():
            return series[:-1]


def _commutators(group: Group, generators: list[int], inverse: Indices) -> list[int]:
    """Elements that generate [H, H], for generators of H: commutators and their conjugates."""
    found: list[int] = []
    waiting = [_product(group, a, b, inverse[a], inverse[b]) for a in generators for b in generators]
    reached = subgroup(group, found)
    while waiting:
        element = waiting.pop()
        if not reached[element]:
            found.append(element)
            reached = subgroup(group, found)
            waiting += [_product(group, g, element, inverse[g]) for g in generators]
    return found


def _product(group: Group, *elements: int) -> int:
    result = np.array(0)
    for element in reversed(elements):
        result = group.step(np.array(element), result)
    return int(result)


def quotient_factors(group: Group, normal: Subset) -> tuple[int, ...]:
    """Invariant factors d1 | d2 | ... of the abelian group G/N, from how many of its elements each power of each prime kills."""
    factors: dict[int, list[int]] = {}
    size, everything = int(normal.sum()), np.arange(group.order)
    for prime in prime_factors(group.order // size):
        counts, exponents = [1], 1
        while len(counts) < 2 or counts[-1] > counts[-2]:
            exponents *= prime
            counts.append(int(normal[power(group, everything, exponents)].sum()) // size)
        ranks = [round(math.log(b // a, prime)) for a, b in pairwise(counts)]
        factors[prime] = [prime ** sum(rank > i for rank in ranks) for i in range(ranks[0])]
    longest = max((len(f) for f in factors.values()), default=0)
    return tuple(math.prod(f[i] for f in factors.values() if i < len(f)) for i in reversed(range(longest)))


def prime_factors(number: int) -> list[int]:
    primes, candidate = [], 2
    while number > 1:
        if number % candidate == 0:
            primes.append(candidate)
            while number % candidate == 0:
                number //= candidate
        candidate += 1
    return primes
