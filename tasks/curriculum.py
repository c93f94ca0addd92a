"""How long the training sequences are, batch by batch."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import torch

from tasks.base import Task
from tasks.lengths import valid_lengths
from tasks.stream import generator

# The length of training batch `index`.
Curriculum = Callable[[int], int]


def linear(task: Task, shortest: int, longest: int, steps: int) -> Curriculum:
    """From `shortest` to `longest` in equal parts of `steps` batches, at every batch the longest valid length so far; then `longest`."""
    lengths = _between(task, shortest, longest)

    def length(index: int) -> int:
        reached = shortest + (longest - shortest + 1) * index // steps
        return lengths[max(bisect_right(lengths, reached) - 1, 0)]

    return length


def uniform(task: Task, longest: int, seed: int) -> Curriculum:
    """Any valid length up to `longest`, each batch drawn anew: a function of (task, seed, index)."""
    lengths = _between(task, 1, longest)
    return lambda index: lengths[int(torch.randint(len(lengths), (), generator=generator(task.name, "length", seed, index)))]


class DoubleWhenAccurate:
    """The length doubles once accuracy at it has been `bar` or more `patience` times running, up to `longest`.

    It is told of each accuracy by `observe`, and so depends on the run: `state_dict` is to be kept in its checkpoint.

    Source: the protocol of diagonal SSMs as replicated in arXiv:2605.07755: from 2 to 60, at .95 five times running.
    """

    def __init__(self, task: Task, shortest: int = 2, longest: int = 60, bar: float = 0.95, patience: int = 5) -> None:
        self.lengths = _between(task, shortest, longest)
        self.bar, self.patience, self.length, self.streak = bar, patience, self.lengths[0], 0

    def __call__(self, index: int) -> int:
        return self.length

    def observe(self, accuracy: float) -> None:
        self.streak = self.streak + 1 if accuracy >= self.bar else 0
        if self.streak == self.patience:
            self.length, self.streak = self.lengths[bisect_right(self.lengths, 2 * self.length) - 1], 0

    def state_dict(self) -> dict[str, Any]:
        return {"length": self.length, "streak": self.streak}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.length, self.streak = state["length"], state["streak"]


def _between(task: Task, shortest: int, longest: int) -> list[int]:
    lengths = [length for length in valid_lengths(task, longest) if length >= shortest]
    if not lengths:
        raise ValueError(f"{task.name}: has no length from {shortest} to {longest} to train at")
    return lengths
