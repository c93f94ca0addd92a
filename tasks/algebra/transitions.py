"""What a word problem tracks: a finite set of states that each token maps to itself."""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer]


@runtime_checkable
class Transitions(Protocol):
    """Tokens 0..n_tokens-1 acting on states 0..n_states-1, from state 0. A group acts on itself."""

    n_tokens: int
    n_states: int

    def step(self, token: Indices, state: Indices) -> Indices:
        """The state after one token, elementwise."""
        ...

    def run(self, tokens: Indices) -> Indices:
        """The state after each token of (B, T) words: (B, T), int64."""
        ...


def run_table(table: Indices, tokens: Indices) -> Indices:
    """state[t] = table[x[t], state[t-1]] from state 0, for (B, T) words at once; one lookup per column, any table."""
    flat = table.ravel()
    # Offsets into the flattened table, time first: the lookups of one step then lie side by side.
    offsets = np.multiply(tokens.T, table.shape[1], dtype=np.intp, order="C")
    states = np.empty(offsets.shape, np.int64)
    state = np.zeros(offsets.shape[1], np.intp)
    for t, offset in enumerate(offsets):
        offset += state
        state = flat[offset]
        states[t] = state
    return np.ascontiguousarray(states.T)
