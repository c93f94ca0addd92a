"""Batches by number: a task's streams as Lightning data loaders."""

from collections.abc import Iterator, Sequence

import torch
from lightning import LightningDataModule
from torch.utils.data import DataLoader, Dataset, Sampler

from tasks.base import Batch, Task
from tasks.stream import generator

# Sequences drawn at a time for an evaluation, whatever the number asked for: more sequences extend the same list.
EVALUATION_BATCH = 128


class TrainBatches(Dataset[Batch]):
    """Batch `index` of run `seed`: a function of (task, "train", seed, index)."""

    def __init__(self, task: Task, seed: int, length: int, batch_size: int) -> None:
        self.task, self.seed, self.length, self.batch_size = task, seed, length, batch_size

    def __getitem__(self, index: int) -> Batch:
        return self.task.sample(generator(self.task.name, "train", self.seed, index), self.batch_size, self.length)


class EvaluationBatches(Dataset[Batch]):
    """Batch `index` of a split at one length: a function of (task, split, length, index), the same for every run of the task."""

    def __init__(self, task: Task, split: str, length: int, sequences: int) -> None:
        self.task, self.split, self.length, self.sequences = task, split, length, sequences

    def __len__(self) -> int:
        return -(-self.sequences // EVALUATION_BATCH)

    def __getitem__(self, index: int) -> Batch:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.split}: batch {index} of {len(self)}")
        whole = self.task.sample(generator(self.task.name, self.split, self.length, index), EVALUATION_BATCH, self.length)
        wanted = min(EVALUATION_BATCH, self.sequences - index * EVALUATION_BATCH)
        return Batch(*(None if field is None else field[:wanted] for field in whole))


class _Steps(Sampler[int]):
    """Batch numbers start..stop-1. It has no length, since Lightning would count the batches before a resume in it too."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.stop))


class StreamDataModule(LightningDataModule):
    """Training batches 0..steps-1 at `length`, validation at `select_length`, tests at each of `lengths`.

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
    ) -> None:
        super().__init__()
        for each in (length, select_length, *lengths):
            task.check_length(each)
        self.task, self.seed, self.length, self.batch_size, self.steps = task, seed, length, batch_size, steps
        self.select_length, self.select_sequences = select_length, select_sequences
        self.lengths, self.sequences, self.num_workers = tuple(lengths), sequences, num_workers

    def train_dataloader(self) -> DataLoader[Batch]:
        start = self.trainer.global_step if self.trainer else 0
        batches = TrainBatches(self.task, self.seed, self.length, self.batch_size)
        return self._loader(batches, _Steps(start, self.steps))

    def val_dataloader(self) -> DataLoader[Batch]:
        return self.loader("validation", self.select_length, self.select_sequences)

    def test_dataloader(self) -> list[DataLoader[Batch]]:
        """One loader per length, in the order of `lengths`."""
        return [self.loader("test", length, self.sequences) for length in self.lengths]

    def loader(self, split: str, length: int, sequences: int) -> DataLoader[Batch]:
        """The first `sequences` sequences of an evaluation split, in batches of at most 128."""
        return self._loader(EvaluationBatches(self.task, split, length, sequences))

    def _loader(self, batches: Dataset[Batch], sampler: Sampler[int] | None = None) -> DataLoader[Batch]:
        # Its own generator, since a DataLoader otherwise draws a worker seed from torch's global one each time it is iterated.
        own = torch.Generator()
        return DataLoader(batches, batch_size=None, sampler=sampler, num_workers=self.num_workers, generator=own)
