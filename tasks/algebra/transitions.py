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
    # Offsets of rows in the flattened table, replaced by states one time step after the other; time first: a step is contiguous.
    states = np.multiply(tokens.T, table.shape[1], dtype=np.int64, order="C")
    state = np.zeros(states.shape[1], np.int64)
    for step in states:
        step += state
        state = flat[step]
        step[:] = state
    return np.ascontiguousarray(states.T)
