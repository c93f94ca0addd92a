"""What a word problem tracks: a finite set of states that each token maps to itself."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tasks.compiled import compiled

Indices = NDArray[np.integer]


@runtime_checkable
class Transitions(Protocol):
    """Tokens 0..n_tokens-1 acting on states 0..n_states-1, from state 0."""

    n_tokens: int
    n_states: int

    def step(self, token: Indices, state: Indices) -> Indices:
        """The state after one token, elementwise; arrays are broadcast."""
        ...

    def run(self, tokens: Indices) -> Indices:
        """The state after each token of (B, T) words: (B, T), int64."""
        ...


@runtime_checkable
class Group(Transitions, Protocol):
    """A finite group acting on itself: step(a, b) is the product ab, in which b acts first. Element 0 is the identity.

    This is the one composition convention of the project: `state = table[x_t, state]`, the new element acts on the left.
    """

    order: int


class Alphabet:
    """A group, or other transitions, of which only some tokens are used: token i is `elements[i]`."""

    def __init__(self, transitions: Transitions, elements: Sequence[int]) -> None:
        wrong = next((x for x in elements if not 0 <= x < transitions.n_tokens), None)
        if wrong is not None:
            raise ValueError(f"alphabet: {wrong} is outside the tokens 0..{transitions.n_tokens - 1}")
        if not elements or len(set(elements)) < len(elements):
            raise ValueError(f"alphabet: one token or more, each listed once, is wanted, got {list(elements)}")
        self.transitions, self.elements = transitions, np.array(elements)
        self.n_tokens, self.n_states = len(elements), transitions.n_states

    def step(self, token: Indices, state: Indices) -> Indices:
        return self.transitions.step(self.elements[token], state)

    def run(self, tokens: Indices) -> Indices:
        return self.transitions.run(self.elements[tokens])


def run_table(table: Indices, tokens: Indices) -> Indices:
    """state[t] = table[x[t], state[t-1]] from state 0, for (B, T) words at once; the table holds numbers of its columns."""
    check_tokens(tokens, len(table))
    states = np.empty(tokens.shape, np.int64)
    fixed = np.ascontiguousarray(table).view()
    fixed.setflags(write=False)
    _run(fixed, np.ascontiguousarray(tokens, np.int64), states)
    return states


def check_tokens(tokens: Indices, n_tokens: int) -> None:
    """ValueError naming a token outside 0..n_tokens-1."""
    if tokens.size and (tokens.min() < 0 or tokens.max() >= n_tokens):
        wrong = tokens[(tokens < 0) | (tokens >= n_tokens)][0]
        raise ValueError(f"token {wrong} is outside 0..{n_tokens - 1}")


@compiled
def _run(table: Indices, tokens: Indices, states: Indices) -> None:
    # Eight words at a time, so that the processor looks up one while it waits for another.
    last = np.zeros(8, np.int64)
    for first in range(0, len(tokens), 8):
        last[:] = 0
        for t in range(tokens.shape[1]):
            for b in range(first, min(first + 8, len(tokens))):
                last[b - first] = table[tokens[b, t], last[b - first]]
                states[b, t] = last[b - first]
