"""Monoids and finite automata: tokens whose effect on a state may be irreversible."""

from collections.abc import Sequence

import numpy as np

from tasks.algebra.cayley import as_square, nonassociative_triple, numbered
from tasks.algebra.transitions import Indices, run_table


class Automaton:
    """A finite automaton: table[x, s] is the state after token x in state s. The states are renumbered so that it starts in state 0.

    With start s > 0, states 0 and s change places.
    """

    def __init__(self, table: Sequence[Sequence[int]] | Indices, start: int = 0) -> None:
        lengths = {len(row) for row in table}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError(
                f"a transition table has one row per token, each with one entry per state, got rows of {sorted(lengths)} entries"
            )
        self.n_tokens, self.n_states = len(table), lengths.pop()
        rows = numbered(table, self.n_states, "a transition table")
        if not 0 <= start < self.n_states:
            raise ValueError(f"an automaton starts in one of its states 0..{self.n_states - 1}, got {start}")
        swap = np.arange(self.n_states)
        swap[[0, start]] = start, 0
        self.table = swap[rows][:, swap].astype(rows.dtype)
        self.table.setflags(write=False)

    def step(self, token: Indices, state: Indices) -> Indices:
        return self.table[token, state]

    def run(self, tokens: Indices) -> Indices:
        return run_table(self.table, tokens)


def monoid(table: Sequence[Sequence[int]]) -> Automaton:
    """A monoid acting on itself from the left: table[a, b] = ab, element 0 the identity. ValueError unless it is associative."""
    square = as_square(table, "a monoid's table")
    triple = nonassociative_triple(square)
    if triple is not None:
        raise ValueError(f"a monoid's table is associative, but not at the triple {triple}")
    elements = np.arange(len(square))
    if (square[0] != elements).any() or (square[:, 0] != elements).any():
        raise ValueError("a monoid's element 0 is its identity")
    return Automaton(square)


def flip_flop(n_values: int = 2) -> Automaton:
    """A memory cell: token 0 keeps what it holds, token i stores i - 1. It holds 0 at first."""
    if n_values < 2:
        raise ValueError(f"a flip-flop holds one of 2 values or more, got {n_values}")
    keep = np.arange(n_values)
    return Automaton(np.stack([keep, *(np.full(n_values, value) for value in range(n_values))]))


def counter(modulus: int) -> Automaton:
    """A cycle of states: token 0 stays, token 1 goes on to the next."""
    if modulus < 1:
        raise ValueError(f"a counter has a modulus of 1 or more, got {modulus}")
    states = np.arange(modulus)
    return Automaton(np.stack([states, (states + 1) % modulus]))
