"""Word problems: the running product of a stream of group elements, spelled out or behind levels of pairs."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.algebra import latin
from tasks.algebra.transitions import Indices, Transitions
from tasks.base import Batch, accuracy, classes, tokens


class WordProblem:
    """Tokens act on a state, identity first and each new element on the left; the target at every position is the state.

        state[t] = table[x[t], state[t-1]]

    With `levels` of hierarchy, 2^levels tokens make one element: neighbours are looked up in the Latin square, left one as the row, level
    after level. The state changes when an element is complete; until then the target is the previous state, at first the identity.

    parity, the group of order 2:  x 1 0 1 1      y 1 1 0 1
    s3_hier, one level:            x 1 5 0 2 1 1  y 0 0 0 5 5 1
    (1 5 selects element 0, the identity; 0 2 selects 5; 1 1 selects 2, and 2 after 5 is 1)

    Source: the minGRU ladder (mingru-scans 0.2.0), whose element order and square conf/task/s3_hier.yaml has.
    """

    head = "per_position"

    def __init__(
        self,
        name: str,
        group: Transitions,
        latin_square: list[list[int]] | None = None,
        levels: int = 0,
        bar: float = 0.99,
    ) -> None:
        if levels < 0 or (levels > 0) != (latin_square is not None):
            raise ValueError(f"{name}: a Latin square goes with one level of hierarchy or more, got levels={levels}")
        self.name, self.group, self.levels = name, group, levels
        self.latin_square = None if latin_square is None else latin.latin_square(latin_square)
        n_tokens = group.n_tokens
        if self.latin_square is not None and len(self.latin_square) != n_tokens:
            raise ValueError(f"{name}: a Latin square of order {len(self.latin_square)} cannot select among {n_tokens} elements")
        self.inputs, self.targets, self.metric = tokens(n_tokens), classes(group.n_states), accuracy(bar)

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
        self.check_length(length)
        if batch < 1:
            raise ValueError(f"{self.name}: a batch has 1 sequence or more, got {batch}")
        words = torch.randint(self.inputs.size, (batch, length), generator=generator)
        return Batch(words, torch.from_numpy(self._states(words.numpy())))

    def chance(self, length: int) -> float:
        return math.fsum(self.position_chance(length).tolist()) / length

    def position_chance(self, length: int) -> Tensor:
        return torch.tensor([p.max() for p in self._distributions(length)], dtype=torch.float64)

    def constant(self, length: int) -> float:
        best = np.argmax(sum(self._distributions(length)))
        return math.fsum(p[best] for p in self._distributions(length)) / length

    def oracle(self, batch: Batch) -> Tensor:
        """The definition, one position at a time; `sample` takes a shorter way."""
        words = batch.inputs.cpu().numpy()
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
        now = np.zeros(self.group.n_states)
        now[0] = 1
        settled = False
        for t in range(length):
            if (t + 1) % self.period == 0 and not settled:
                later = self._advance(now)
                now, settled = later, np.allclose(later, now, rtol=1e-12, atol=0)
            yield now

    def _advance(self, distribution: np.ndarray) -> np.ndarray:
        states = np.arange(self.group.n_states)
        n = self.group.n_tokens
        moved = (np.bincount(self.group.step(x, states), distribution, len(states)) for x in range(n))
        return sum(moved) / n
