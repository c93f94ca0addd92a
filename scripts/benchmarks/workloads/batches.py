"""What a task's stream costs beside the training step that it feeds."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import torch
from hydra import compose, initialize_config_dir

import train
from mingru.metrics import loss_sum
from mingru.settings import CONF
from scripts.benchmarks.workloads import passes
from tasks.base import Batch, Task
from tasks.datamodule import TrainBatches


@cache
def resolved(task: str, mixer: str) -> tuple[dict[str, Any], Task]:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return train.resolve(compose("train", overrides=[f"task={task}", f"mixer={mixer}"]), CONF)


def production(task: str, mixer: str, batch: int, length: int) -> passes.Work:
    """One training batch after the other."""
    stream, numbers = TrainBatches(resolved(task, mixer)[1], 0, length, batch), itertools.count()
    return lambda: stream[next(numbers)]


def training_step(task: str, mixer: str, batch: int, length: int) -> passes.Work:
    """The same batch again and again, through the stack that the command line would train."""
    step, stream = optimised(task, mixer), TrainBatches(resolved(task, mixer)[1], 0, length, batch)
    ready = stream[0]
    return lambda: step(ready)


def bare_loop(task: str, mixer: str, batch: int, length: int) -> passes.Work:
    """A new batch for every step and nothing between them: what a trainer could at best cost."""
    step, produce = optimised(task, mixer), production(task, mixer, batch, length)
    return lambda: step(produce())


def optimised(task: str, mixer: str):
    """One training step on a batch: forward, loss, backward, Adam."""
    config, _ = resolved(task, mixer)
    stack = train.build_stack(config)
    optimiser = torch.optim.Adam(stack.parameters(), lr=config["lr"])

    def step(batch: Batch) -> None:
        optimiser.zero_grad()
        loss, count = loss_sum(stack(batch.inputs)[0], batch.targets)
        (loss / count).backward()
        optimiser.step()

    return step
