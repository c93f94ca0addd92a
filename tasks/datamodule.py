"""Batches by number: a task's streams as Lightning data loaders."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from lightning import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from tasks.base import Batch, Finite, Split, Task, of_split, rows
from tasks.curriculum import Curriculum, Shape
from tasks.lengths import is_prefix_closed, valid_lengths
from tasks.stream import generator

# Sequences drawn at a time for an evaluation, whatever the number asked for: more sequences extend the same list.
EVALUATION_BATCH = 128


class TrainBatches(Dataset[Batch]):
    """Batch `index` of run `seed`: a function of (task, "train", seed, index).

    With `limit`, or for a task of so many sequences, the batches go through the same sequences again and again, in a new order each time,
    and a batch may span two rounds. With `limit` these are the first ones of the unlimited stream. A `curriculum` says how many sequences
    of what length each batch has, in place of `batch_size` and `length`.
    """

    def __init__(
        self, task: Task, seed: int, length: int, batch_size: int, limit: int | None = None, curriculum: Curriculum | None = None
    ) -> None:
        if limit is not None and limit < 1:
            raise ValueError(f"a limited training set has 1 sequence or more, got {limit}")
        if curriculum is not None and (limit is not None or isinstance(of_split(task, "train"), Finite)):
            raise ValueError(f"{task.name}: a training set of so many sequences has one length, and no curriculum")
        self.curriculum = curriculum
        self.task, self.seed, self.length, self.batch_size, self.limit = of_split(task, "train"), seed, length, batch_size, limit
        self._orders: dict[int, Tensor] = {}

    def __getitem__(self, index: int) -> Batch:
        if self.limit is None and not isinstance(self.task, Finite):
            return self._streamed(index)
        return rows(self._sequences, self._order(index))

    def _streamed(self, index: int) -> Batch:
        shape = Shape(self.batch_size, self.length) if self.curriculum is None else self.curriculum(index)
        return self.task.sample(generator(self.task.name, "train", self.seed, index), *shape)

    @cached_property
    def _sequences(self) -> Batch:
        if isinstance(self.task, Finite):
            return rows(self.task.examples(self.length), slice(self.limit))
        batches = [self._streamed(index) for index in range(-(-self.limit // self.batch_size))]
        whole = Batch(*(None if fields[0] is None else torch.cat(fields) for fields in zip(*batches, strict=True)))
        return rows(whole, slice(self.limit))

    def _order(self, index: int) -> Tensor:
        """Which sequences batch `index` has."""
        count = len(self._sequences.inputs)
        place = torch.arange(index * self.batch_size, (index + 1) * self.batch_size)
        rounds = range(int(place[0]) // count, int(place[-1]) // count + 1)
        self._orders = {r: self._orders[r] if r in self._orders else self._shuffled(count, r) for r in rounds}
        return torch.cat([self._orders[r] for r in rounds])[place - rounds[0] * count]

    def _shuffled(self, count: int, round_number: int) -> Tensor:
        return torch.randperm(count, generator=generator(self.task.name, "shuffle", self.seed, round_number))


class EvaluationBatches(Dataset[Batch]):
    """Batch `index` of a split at one length: a function of (task, split, length, index), the same for every run of the task.

    A task of so many sequences gives its first ones, and no more than it has.
    """

    def __init__(self, task: Task, split: Split, length: int, sequences: int) -> None:
        self.task, self.split, self.length = of_split(task, split), split, length
        self._all = self.task.examples(length) if isinstance(self.task, Finite) else None
        self.sequences = sequences if self._all is None else min(sequences, len(self._all.inputs))

    def __len__(self) -> int:
        return -(-self.sequences // EVALUATION_BATCH)

    def __getitem__(self, index: int) -> Batch:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.split}: batch {index} of {len(self)}")
        first, last = index * EVALUATION_BATCH, min((index + 1) * EVALUATION_BATCH, self.sequences)
        if self._all is not None:
            return rows(self._all, slice(first, last))
        whole = self.task.sample(generator(self.task.name, self.split, self.length, index), EVALUATION_BATCH, self.length)
        return rows(whole, slice(last - first))


class _Steps(Sampler[int]):
    """Batch numbers start..stop-1. It has no length, since Lightning would count the batches before a resume in it too."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.stop))


class StreamDataModule(LightningDataModule):
    """Training batches 0..steps-1 at `length`, validation at `select_length`, tests at each of `lengths`.

    `train_sequences` limits the training set to that many sequences, reshuffled each time they are through. A `curriculum` gives each
    training batch its shape; one that observes the run needs num_workers=0, since workers make batches far ahead of time, and its state
    is in the trainer's checkpoints. `passes` lists what tells of every length up to `every_length`: (length of a pass, lengths it
    tells of), one pass for all where sequences cut short are sequences.

    A batch is made from its number alone (tasks/stream.py), so the worker count, a resume and other uses of random numbers change
    nothing. Training goes on from the trainer's global step.
    """

    def __init__(
        self,
        task: Task,
        *,
        seed: int,
        length: int,
        batch_size: int,
        steps: int,
        select_length: int,
        select_sequences: int,
        lengths: Sequence[int],
        sequences: int,
        num_workers: int = 0,
        train_sequences: int | None = None,
        curriculum: Curriculum | None = None,
        every_length: int | None = None,
    ) -> None:
        super().__init__()
        for each in (length, select_length, *lengths):
            task.check_length(each)
        self.task, self.seed, self.length, self.batch_size, self.steps = task, seed, length, batch_size, steps
        self.select_length, self.select_sequences = select_length, select_sequences
        self.lengths, self.sequences, self.num_workers = tuple(lengths), sequences, num_workers
        self.curriculum = curriculum
        self.train_batches = TrainBatches(task, seed, length, batch_size, train_sequences, curriculum)
        self.passes = passes(task, every_length)
        if hasattr(curriculum, "observe") and num_workers > 0:
            raise ValueError(f"{task.name}: this curriculum follows the run and takes no workers, got num_workers={num_workers}")

    def train_dataloader(self) -> DataLoader[Batch]:
        start = self.trainer.global_step if self.trainer else 0
        return self._loader(self.train_batches, _Steps(start, self.steps))

    def val_dataloader(self) -> DataLoader[Batch]:
        return self.loader("validation", self.select_length, self.select_sequences)

    def test_dataloader(self) -> list[DataLoader[Batch]]:
        """One loader per length, in the order of `lengths`."""
        return [self.loader("test", length, self.sequences) for length in self.lengths]

    def every_length_loaders(self) -> list[DataLoader[Batch]]:
        """One loader per entry of `passes`."""
        return [self.loader("test", length, self.sequences) for length, _ in self.passes]

    def state_dict(self) -> dict[str, Any]:
        return self.curriculum.state_dict() if hasattr(self.curriculum, "observe") else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.curriculum.load_state_dict(state_dict)

    def loader(self, split: Split, length: int, sequences: int) -> DataLoader[Batch]:
        """The first `sequences` sequences of an evaluation split, in batches of at most 128."""
        return self._loader(EvaluationBatches(self.task, split, length, sequences))

    def _loader(self, batches: Dataset[Batch], sampler: Sampler[int] | None = None) -> DataLoader[Batch]:
        # Its own generator, since a DataLoader otherwise draws a worker seed from torch's global one each time it is iterated.
        own = torch.Generator()
        return DataLoader(batches, batch_size=None, sampler=sampler, num_workers=self.num_workers, generator=own)


def passes(task: Task, every_length: int | None) -> list[tuple[int, list[int]]]:
    """What has to be evaluated to know the score at every valid length up to `every_length`, and which lengths each tells of."""
    if every_length is None:
        return []
    lengths = valid_lengths(task, every_length)
    if not lengths:
        raise ValueError(f"{task.name}: has no length up to {every_length} to evaluate")
    # Errors are not counted by position.
    if is_prefix_closed(task) and task.metric.name == "accuracy":
        return [(lengths[-1], lengths)]
    return [(length, [length]) for length in lengths]
