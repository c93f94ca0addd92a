"""What a task promises: what goes in and out of a model, which positions are scored, how well one can do without looking."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from torch import Generator, Tensor

# A target with this value is not scored.
IGNORE = -100


class Batch(NamedTuple):
    """B sequences. A tuple, so that Lightning and DataLoader move, pin and pickle it as they do any other.

    inputs   (B, T) token numbers or (B, T, F) vectors
    targets  (B, T) classes or (B, T, C) vectors; without T where the head reads the last position only
    delta_t  (B, T) time gap before each position, in the task's unit; None where the task has no clock
    """

    inputs: Tensor
    targets: Tensor
    delta_t: Tensor | None = None


def rows(batch: Batch, chosen: Tensor | slice) -> Batch:
    """Some of the sequences."""
    return Batch(*(None if field is None else field[chosen] for field in batch))


@dataclass(frozen=True)
class Space:
    """One side of a task: `size` is the number of tokens or classes, or the width of a vector."""

    kind: Literal["tokens", "classes", "vectors"]
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a space of {self.kind} needs a size of at least 1, got {self.size}")


def tokens(n: int) -> Space:
    return Space("tokens", n)


def classes(n: int) -> Space:
    return Space("classes", n)


def vectors(n: int) -> Space:
    return Space("vectors", n)


@dataclass(frozen=True)
class Metric:
    """How a task is scored; `bar` is the value from which a run counts as fitted."""

    name: Literal["accuracy", "mse"]
    higher_is_better: bool
    bar: float


def accuracy(bar: float = 0.99) -> Metric:
    return Metric("accuracy", higher_is_better=True, bar=bar)


def mse(bar: float) -> Metric:
    return Metric("mse", higher_is_better=False, bar=bar)


@runtime_checkable
class Task(Protocol):
    """A distribution over labelled sequences of any valid length.

    `sample` draws from its generator only and is a pure function of the generator's state. `chance` and `constant` are in the unit
    of the metric: the mean over scored positions of the best score possible without looking at the input, and the best single
    answer given at all of them. A task may have more than this: `Splits` and `Finite`, below. One whose batches have `delta_t` says
    so with a class attribute `timed`.
    """

    name: str
    inputs: Space
    targets: Space
    head: Literal["per_position", "last", "autoencode"]
    metric: Metric

    def check_length(self, length: int) -> None:
        """ValueError naming the nearest valid lengths, unless sequences of this length exist."""
        ...

    def sample(self, generator: Generator, batch: int, length: int) -> Batch: ...

    def chance(self, length: int) -> float: ...

    def position_chance(self, length: int) -> Tensor:
        """Chance at each target: (T,), or (1,) with the head `last`; float64, and NaN where nothing is ever scored."""
        ...

    def constant(self, length: int) -> float: ...

    def oracle(self, batch: Batch) -> Tensor:
        """The targets as they follow from `batch.inputs` and `batch.delta_t`; `batch.targets` tells at most where to answer."""
        ...


def check_at_least(name: str, length: int, shortest: int = 1) -> None:
    """The `check_length` of a task that has sequences of any length from `shortest` on."""
    if length < shortest:
        raise ValueError(f"{name}: length {length} is less than {shortest}; nearest valid: {shortest}")


def check_request(task: Task, batch: int, length: int) -> None:
    """ValueError unless so many sequences of this length can be drawn."""
    task.check_length(length)
    if batch < 1:
        raise ValueError(f"{task.name}: a batch has 1 sequence or more, got {batch}")


def scored_mean(position_chance: Tensor) -> float:
    """The mean over the positions that are scored, exactly rounded."""
    scored = [value for value in position_chance.tolist() if not math.isnan(value)]
    return math.fsum(scored) / len(scored)


Split = Literal["train", "validation", "fresh", "test"]


@runtime_checkable
class Splits(Protocol):
    """A task that is not the same in every split: its data are divided among them, or it scores more positions in training."""

    def split(self, name: Split) -> Task: ...


@runtime_checkable
class Finite(Protocol):
    """A task, or a split of one, with so many sequences and no more."""

    def examples(self, length: int) -> Batch:
        """All of them, in an order that never changes."""
        ...


def of_split(task: Task, name: Split) -> Task:
    return task.split(name) if isinstance(task, Splits) else task
