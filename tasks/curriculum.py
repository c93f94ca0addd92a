"""How long the training sequences are, and how many make a batch, batch by batch."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from tasks.base import Task
from tasks.lengths import valid_lengths
from tasks.stream import generator


class Run(NamedTuple):
    """What a curriculum may depend on: `length` is the longest it reaches unless it says otherwise."""

    task: Task
    length: int
    batch_size: int
    steps: int
    seed: int


class Shape(NamedTuple):
    sequences: int
    length: int


# The shape of training batch `index`.
Curriculum = Callable[[int], Shape]


def linear(run: Run, shortest: int = 1, steps: int | None = None) -> Curriculum:
    """From `shortest` to the run's length in equal parts of `steps` batches (all of the run's when null), and there to the end.

    Each batch has the longest valid length reached so far.
    """
    steps, span = run.steps if steps is None else steps, run.length - shortest + 1
    if steps < 1:
        raise ValueError(f"{run.task.name}: a linear curriculum takes 1 step or more, got {steps}")
    lengths = _between(run.task, shortest, run.length)

    def shape(index: int) -> Shape:
        reached = shortest + span * index // steps
        return Shape(run.batch_size, lengths[max(bisect_right(lengths, reached) - 1, 0)])

    return shape


def uniform(run: Run, shortest: int = 1) -> Curriculum:
    """Any valid length from `shortest` to the run's, each batch drawn anew: a function of (task, seed, index)."""
    lengths = _between(run.task, shortest, run.length)

    def shape(index: int) -> Shape:
        drawn = torch.randint(len(lengths), (), generator=generator(run.task.name, "length", run.seed, index))
        return Shape(run.batch_size, lengths[int(drawn)])

    return shape


class DoubleWhenAccurate:
    """The length doubles, up to the run's, once accuracy at it has been `bar` or more for `patience` batches running.

    Accuracy is a running mean, `smoothing` * mean + (1 - smoothing) * batch, which begins at zero at every length. With `tokens`, a batch
    at length T has tokens / T sequences, but no fewer than the run's batch size and no more than `most_sequences`.

    `observe` tells it of each batch, and so it depends on the run: `state_dict` is to be kept in its checkpoint. A new length holds from
    the second batch after the one that earned it, since a trainer makes each batch while the one before is trained on.

    Source: from 2 to 60 at .95 five times running, the protocol of diagonal SSMs as replicated in arXiv:2605.07755, there by epochs.
    """

    def __init__(
        self,
        run: Run,
        shortest: int = 2,
        bar: float = 0.95,
        patience: int = 1,
        smoothing: float = 0.0,
        tokens: int | None = None,
        most_sequences: int | None = None,
    ) -> None:
        name = run.task.name
        if run.task.metric.name != "accuracy":
            raise ValueError(
                f"{name}: a curriculum that doubles when accurate wants a task scored by accuracy, not by {run.task.metric.name}"
            )
        if not 0 <= smoothing < 1 or not 0 < bar <= 1 or patience < 1:
            got = f"smoothing={smoothing}, bar={bar}, patience={patience}"
            raise ValueError(f"{name}: a curriculum has a smoothing in [0, 1), a bar in (0, 1] and a patience of 1 or more, got {got}")
        self.lengths, self.batch_size = _between(run.task, shortest, run.length), run.batch_size
        self.bar, self.patience, self.smoothing = bar, patience, smoothing
        self.tokens, self.most_sequences = tokens, most_sequences
        # Each length with the first batch that has it.
        self.stages = [(0, self.lengths[0])]
        self.streak, self.mean = 0, 0.0

    def __call__(self, index: int) -> Shape:
        stage = bisect_right(self.stages, index, key=lambda stage: stage[0]) - 1
        length = self.stages[stage][1]
        fitting = 0 if self.tokens is None else self.tokens // length
        most = fitting if self.most_sequences is None else self.most_sequences
        return Shape(max(self.batch_size, min(fitting, most)), length)

    def observe(self, index: int, accuracy: float) -> None:
        """The accuracy of training batch `index`; one shorter than the length that is due tells nothing."""
        first, length = self.stages[-1]
        if index < first:
            return
        self.mean = self.smoothing * self.mean + (1 - self.smoothing) * accuracy
        self.streak = self.streak + 1 if self.mean >= self.bar else 0
        if self.streak == self.patience:
            self.streak, self.mean = 0, 0.0
            longer = self.lengths[bisect_right(self.lengths, 2 * length) - 1]
            if longer > length:
                self.stages.append((index + 2, longer))

    def state_dict(self) -> dict[str, Any]:
        return {"stages": list(self.stages), "streak": self.streak, "mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.stages, self.streak, self.mean = list(map(tuple, state["stages"])), state["streak"], state["mean"]


def _between(task: Task, shortest: int, longest: int) -> list[int]:
    lengths = [length for length in valid_lengths(task, longest) if length >= shortest]
    if not lengths:
        raise ValueError(f"{task.name}: has no length from {shortest} to {longest} to train at")
    return lengths
