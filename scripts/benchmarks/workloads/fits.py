"""A fit under the project's trainer, timed from step to step."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import lightning as L

import train
from mingru import training
from mingru.callbacks import BestWeights, Heartbeat, Resumable
from mingru.tagger import SequenceTagger
from scripts.benchmarks.workloads import batches

# Steps before the clock starts: the first ones compile, allocate and load.
WARM = 10


class Clock(L.Callback):
    """Seconds from the end of step WARM to the end of the last, before anything that follows it."""

    def __init__(self) -> None:
        self.began = self.seconds = 0.0

    def on_train_batch_end(self, trainer: L.Trainer, tagger: Any, *_: Any) -> None:
        if trainer.global_step == WARM:
            self.began = time.perf_counter()
        self.seconds = time.perf_counter() - self.began


class Fit:
    """An iteration is one training step; each call is a fit of its own, whose one validation comes when the clock has stopped."""

    def __init__(self, task: str, mixer: str, batch: int, length: int) -> None:
        config, self.task = batches.resolved(task, mixer)
        evaluation = {**config["evaluation"], "select_length": length, "select_sequences": 1, "lengths": [length], "sequences": 1}
        self.config = {**config, "batch_size": batch, "length": length, "evaluation": evaluation}

    def timed(self, iterations: int) -> float:
        steps, clock = WARM + iterations, Clock()
        config = {**self.config, "steps": steps}
        config["evaluation"]["every"] = steps
        protocol = training.Protocol(steps, "cpu", config["evaluation"], self.task.metric.higher_is_better)
        training.quiet()
        with tempfile.TemporaryDirectory() as folder:
            callbacks = [BestWeights(protocol.higher_is_better), Resumable(Path(folder) / "checkpoint", steps), Heartbeat(steps), clock]
            trainer = training.make_trainer(protocol, callbacks, None, False)
            tagger = SequenceTagger(train.build_stack(self.config), self.config["lr"])
            trainer.fit(tagger, datamodule=train.data_module(config, self.task))
        return clock.seconds


def fit(task: str, mixer: str, batch: int, length: int) -> Fit:
    return Fit(task, mixer, batch, length)
