"""Finite groups as multiplication tables."""

from collections.abc import Sequence

import numpy as np

from tasks.algebra.structure import generating_set
from tasks.algebra.transitions import Group, Indices, run_table

LARGEST_TABLE = 4096


class CayleyTable:
    """A finite group: table[a, b] is the product ab, in which b acts first. Element 0 is the identity.

    ValueError, naming the entry, element or triple at fault, unless the table is that of a group.
    """

    def __init__(self, table: Sequence[Sequence[int]] | Indices) -> None:
        square = as_square(table, "a Cayley table")
        _check_identity(square)
        triple = nonassociative_triple(square)
        if triple is not None:
            a, b, c = triple
            left, right = square[square[a, b], c], square[a, square[b, c]]
            raise ValueError(f"not associative: ({a} * {b}) * {c} = {left}, but {a} * ({b} * {c}) = {right}")
        _check_inverses(square)
        self.table = square
        self.table.setflags(write=False)

    @classmethod
    def known(cls, table: Indices) -> "CayleyTable":
        """Without the checks, for a table worked out from a group."""
        group = cls.__new__(cls)
        group.table = table.astype(np.min_scalar_type(len(table) - 1))
        group.table.setflags(write=False)
        return group

    @property
    def order(self) -> int:
        return len(self.table)

    n_tokens = n_states = order

    def step(self, token: Indices, state: Indices) -> Indices:
        return self.table[token, state]

    def run(self, tokens: Indices) -> Indices:
        return run_table(self.table, tokens)


def tabulated(group: Group) -> Group:
    """The same group as one table, unless it has more than 4,096 elements."""
    if group.order > LARGEST_TABLE:
        return group
    everything = np.arange(group.order)
    left = [group.step(np.full(group.order, g), everything) for g in generating_set(group)]
    table = np.zeros((group.order, group.order), np.min_scalar_type(group.order - 1))
    table[0] = everything
    reached = everything == 0
    latest = np.flatnonzero(reached)
    while not reached.all():
        found = []
        for times_g in left:
            # The row of ga is g times the row of a.
            new, first = np.unique(times_g[latest], return_index=True)
            first, new = first[~reached[new]], new[~reached[new]]
            table[new] = times_g[table[latest[first]]]
            reached[new] = True
            found.append(new)
        latest = np.concatenate(found)
    return CayleyTable.known(table)


def as_square(rows: Sequence[Sequence[int]] | Indices, what: str) -> Indices:
    """A square array of element numbers in the smallest integer type; ValueError where it isn't one, or isn't closed."""
    lengths = {len(row) for row in rows}
    if lengths != {len(rows)}:
        raise ValueError(f"{what} has as many columns as rows, got {len(rows)} rows of {sorted(lengths)} entries")
    if len(rows) > LARGEST_TABLE:
        raise ValueError(f"{what} has at most {LARGEST_TABLE} rows, got {len(rows)}")
    return numbered(rows, len(rows), what)


def numbered(rows: Sequence[Sequence[int]] | Indices, count: int, what: str) -> Indices:
    """The rows as an array in the smallest integer type; ValueError unless every entry is a number in 0..count-1."""
    array = rows.copy() if isinstance(rows, np.ndarray) else np.array([list(row) for row in rows])
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{what} holds the numbers of its elements, got entries of type {array.dtype}")
    outside = np.argwhere((array < 0) | (array >= count))
    if len(outside):
        a, b = outside[0]
        raise ValueError(f"{what} is not closed: row {a}, column {b} holds {array[a, b]}, which is outside 0..{count - 1}")
    return array.astype(np.min_scalar_type(count - 1))


def nonassociative_triple(table: Indices) -> tuple[int, int, int] | None:
    """A triple with (ab)c != a(bc), or None: Light's test, exact for any closed table.

    The elements that associate from the middle are closed under products, so testing generators decides. Each takes n^2 lookups, and a
    group has at most log2 n.
    """
    reached = np.zeros(len(table), bool)
    generators: list[int] = []
    while not reached.all():
        middle = int(np.argmin(reached))
        wrong = np.argwhere(table[table[:, middle]] != table[:, table[middle]])
        if len(wrong):
            a, c = wrong[0]
            return int(a), middle, int(c)
        generators.append(middle)
        reached[middle] = True
        _close(table, generators, reached)
    return None


def _close(table: Indices, generators: list[int], reached: np.ndarray) -> None:
    """Mark, in place, every product of a marked element and a generator."""
    while True:
        products = table[np.ix_(reached, generators)]
        if reached[products].all():
            return
        reached[products] = True


def _check_identity(table: Indices) -> None:
    elements = np.arange(len(table))
    neutral = (table == elements).all(axis=1) & (table == elements[:, None]).all(axis=0)
    if neutral[0]:
        return
    if neutral.any():
        raise ValueError(f"the identity is element {np.argmax(neutral)}; list it first, as element 0")
    raise ValueError("no identity: no element leaves every other one unchanged from both sides")


def _check_inverses(table: Indices) -> None:
    invertible = (table == 0).any(axis=1) & (table == 0).any(axis=0)
    if not invertible.all():
        raise ValueError(f"no inverse: no element takes {np.argmin(invertible)} to the identity from both sides")
