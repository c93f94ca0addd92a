"""Word problems: the running product of a stream of group elements, spelled out or behind levels of pairs."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.algebra import latin
from tasks.algebra.names import named_group
from tasks.algebra.structure import generating_set
from tasks.algebra.transitions import Alphabet, Group, Indices, Transitions, check_tokens
from tasks.base import Batch, accuracy, check_request, classes, scored_mean, tokens


class WordProblem:
    """Tokens act on a state, identity first and each new element on the left; the target at every position is the state.

        state[t] = table[x[t], state[t-1]]

    `group` is a name (tasks/algebra/names.py), or a group or automaton itself. `alphabet` restricts the tokens to a list of elements, or
    to "generators" of the group; token i is then the i-th of them.

    With `levels` of hierarchy, 2^levels tokens make one element: neighbours are looked up in a Latin square, left one as the row, level
    after level. The state changes when an element is complete; until then the target is the previous state, at first the identity.
    The square is `latin_square`, or drawn with `table_seed` such that it is isotopic to no group.

    parity, the group of order 2:  x 1 0 1 1      y 1 1 0 1
    s3_hier, one level:            x 1 5 0 2 1 1  y 0 0 0 5 5 1
    (1 5 selects element 0, the identity; 0 2 selects 5; 1 1 selects 2, and 2 after 5 is 1)

    Source: the minGRU ladder (mingru-scans 0.2.0), whose element order and square conf/task/s3_hier.yaml has.
    """

    head = "per_position"
    prefix_closed = True

    def __init__(
        self,
        name: str,
        group: Transitions | str,
        alphabet: list[int] | str | None = None,
        levels: int = 0,
        latin_square: list[list[int]] | None = None,
        table_seed: int | None = None,
        bar: float = 0.99,
    ) -> None:
        self.name, self.levels = name, levels
        self.group = transitions(name, group, alphabet)
        self.latin_square = hierarchy_square(name, self.group.n_tokens, levels, latin_square, table_seed)
        self.inputs, self.targets, self.metric = tokens(self.group.n_tokens), classes(self.group.n_states), accuracy(bar)

    @property
    def period(self) -> int:
        """Tokens per group element."""
        return 2**self.levels

    def check_length(self, length: int) -> None:
        if length >= 1 and length % self.period == 0:
            return
        below = length // self.period * self.period
        nearest = f"{below} and {below + self.period}" if below > 0 else f"{self.period}"
        fault = "is less than 1" if length < 1 else f"is not a multiple of {self.period} tokens"
        raise ValueError(f"{self.name}: length {length} {fault}; nearest valid: {nearest}")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        words = torch.randint(self.inputs.size, (batch, length), generator=generator)
        return Batch(words, torch.from_numpy(self._states(words.numpy())))

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    def position_chance(self, length: int) -> Tensor:
        return torch.tensor([p.max() for p in self._distributions(length)], dtype=torch.float64)

    def constant(self, length: int) -> float:
        best = np.argmax(sum(self._distributions(length)))
        return math.fsum(p[best] for p in self._distributions(length)) / length

    def oracle(self, batch: Batch) -> Tensor:
        """The definition, one position at a time; `sample` takes a shorter way."""
        words = batch.inputs.cpu().numpy()
        check_tokens(words, self.inputs.size)
        state = np.zeros(len(words), np.int64)
        states = np.empty_like(words)
        for t in range(words.shape[1]):
            if (t + 1) % self.period == 0:
                element = self._elements(words[:, t + 1 - self.period : t + 1])
                state = self.group.step(element[:, 0], state)
            states[:, t] = state
        return torch.from_numpy(states).to(batch.inputs.device)

    def _elements(self, words: Indices) -> Indices:
        """The group elements that the tokens spell: (B, T) -> (B, T / period)."""
        for _ in range(self.levels):
            words = self.latin_square[words[:, ::2], words[:, 1::2]]
        return words

    def _states(self, words: Indices) -> Indices:
        """The state at every position: (B, T) -> (B, T)."""
        states = self.group.run(self._elements(words))
        if self.period == 1:
            return states
        labels = np.zeros(words.shape, np.int64)
        labels[:, self.period :] = np.repeat(states[:, :-1], self.period, axis=1)
        labels[:, self.period - 1 :: self.period] = states
        return labels

    def _distributions(self, length: int) -> Iterator[np.ndarray]:
        """The probability of each state at each position, when tokens are uniform (then so is what a Latin square selects)."""
        self.check_length(length)
        n_tokens, n_states = self.group.n_tokens, self.group.n_states
        now, settled = np.eye(1, n_states)[0], False
        if not isinstance(self.group, Group):
            moves = self.group.step(np.arange(n_tokens)[:, None], np.arange(n_states)).ravel()
        for t in range(length):
            if (t + 1) % self.period == 0 and not settled:
                if isinstance(self.group, Group):
                    # A whole group takes any distribution to the uniform one.
                    later, settled = np.full(n_states, 1 / n_states), True
                else:
                    later = np.bincount(moves, np.tile(now / n_tokens, n_tokens), n_states)
                    settled = np.allclose(later, now, rtol=1e-12, atol=0)
                now = later
            yield now


def transitions(name: str, group: Transitions | str, alphabet: Sequence[int] | str | None) -> Transitions:
    """The group of that name, or the group itself, restricted to an alphabet."""
    try:
        whole = named_group(group) if isinstance(group, str) else group
        if alphabet is None:
            return whole
        if isinstance(alphabet, str):
            if alphabet != "generators" or not isinstance(whole, Group):
                raise ValueError(f"alphabet: null, a list of elements, or the generators of a group are wanted, got {alphabet!r}")
            alphabet = generating_set(whole)
        return Alphabet(whole, alphabet)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def hierarchy_square(name: str, order: int, levels: int, given: Sequence[Sequence[int]] | None, table_seed: int | None) -> Indices | None:
    """The Latin square of a hierarchy, or None without one. ValueError where the settings do not go together."""
    sources = (given is not None) + (table_seed is not None)
    if levels < 0 or sources != (levels > 0):
        wanted = "no latin_square and no table_seed" if levels == 0 else "a latin_square or a table_seed, one of them"
        raise ValueError(f"{name}: levels={levels} goes with {wanted if levels >= 0 else 'nothing; it is 0 or more'}")
    if not sources:
        return None
    try:
        square = latin.drawn_square(order, table_seed) if given is None else latin.given_square(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if len(square) != order:
        raise ValueError(f"{name}: a Latin square of order {len(square)} cannot select among {order} elements")
    return square
