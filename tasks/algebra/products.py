"""Groups made of groups: direct, semidirect and wreath products."""

import math
from collections.abc import Sequence

import numpy as np

from tasks.algebra.cayley import LARGEST_TABLE, CayleyTable, tabulated
from tasks.algebra.permutations import LARGEST_GROUP, Permutations, as_permutations
from tasks.algebra.transitions import Group, Indices, check_tokens


class DirectProduct:
    """Tuples of elements, multiplied factor by factor; numbered in the order of `itertools.product`, so the last factor runs fastest.

    Each factor keeps its own table, which takes far less memory than one for the product.
    """

    def __init__(self, factors: Sequence[Group]) -> None:
        self.factors = list(factors)
        self.order = self.n_tokens = self.n_states = math.prod(factor.order for factor in factors)
        if not factors or self.order > LARGEST_GROUP:
            raise ValueError(f"a direct product has one factor or more and up to {LARGEST_GROUP} elements, got {self.order}")

    def step(self, token: Indices, state: Indices) -> Indices:
        pairs = zip(self.factors, self.split(token), self.split(state), strict=True)
        return self._join([factor.step(a, b) for factor, a, b in pairs])

    def run(self, tokens: Indices) -> Indices:
        check_tokens(tokens, self.order)
        return self._join([factor.run(part) for factor, part in zip(self.factors, self.split(tokens), strict=True)])

    def split(self, elements: Indices) -> list[Indices]:
        """The component of each element in every factor."""
        parts = []
        for factor in reversed(self.factors[1:]):
            elements, part = np.divmod(elements, factor.order)
            parts.append(part)
        return [elements, *reversed(parts)]

    def _join(self, parts: Sequence[Indices]) -> Indices:
        elements = np.asarray(parts[0], np.int64)
        for factor, part in zip(self.factors[1:], parts[1:], strict=True):
            elements = elements * factor.order + part
        return elements


def semidirect_product(normal: Group, acting: Group, automorphisms: Sequence[Sequence[int]]) -> CayleyTable:
    """N : H, with (a, g)(b, h) = (a g(b), gh), where row g of `automorphisms` is where g sends the elements of N. (a, g) is a * |H| + g.

    ValueError unless the rows are automorphisms that multiply as H does.
    """
    order = normal.order * acting.order
    if order > LARGEST_TABLE or len(automorphisms) != acting.order:
        raise ValueError(
            f"a semidirect product has up to {LARGEST_TABLE} elements and one automorphism per element of H, "
            f"got {order} elements and {len(automorphisms)} automorphisms for {acting.order} elements"
        )
    action = as_permutations(automorphisms)
    a, g = np.divmod(np.arange(order), acting.order)
    moved = action[g[:, None], a[None]]
    return CayleyTable(normal.step(a[:, None], moved) * acting.order + acting.step(g[:, None], g[None]))


def wreath_product(base: Group, top: Sequence[Sequence[int]] | Indices) -> Group:
    """B wr P: a d-tuple of elements of B, then a permutation of the places by P, a group of permutations of 0..d-1, identity first.

    The tuples come in the order of `itertools.product` and the permutation runs fastest: (f, p) sends x in place i to f[p(i)] x in p(i).
    """
    places = as_permutations(top)
    degree = places.shape[1]
    order = base.order**degree * len(places)
    if order > LARGEST_GROUP:
        raise ValueError(f"a wreath product has up to {LARGEST_GROUP} elements, got {base.order}^{degree} * {len(places)}")
    number, p = np.divmod(np.arange(order), len(places))
    tuples = np.stack([number // base.order ** (degree - 1 - i) % base.order for i in range(degree)], axis=1)
    target = places[p].astype(np.int64)
    acting = np.take_along_axis(tuples, target, axis=1)
    moved = base.step(acting[:, :, None], np.arange(base.order))
    points = (target[:, :, None] * base.order + moved).reshape(order, -1)
    return tabulated(Permutations(points.astype(np.min_scalar_type(points.shape[1]))))
