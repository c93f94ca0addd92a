"""One run's fit and test under Lightning's Trainer, kept lean: per step it adds well under a millisecond."""

import logging
import os
import shutil
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch import nn

from mingru import result
from mingru.callbacks import BestWeights, Heartbeat, Resumable, save_weights
from mingru.metrics import Scores
from mingru.sweep.claim import CHECKPOINT
from mingru.sweep.interruption import deferred
from mingru.tagger import SequenceTagger
from mingru.tracking.metrics import WandbMetrics

log = logging.getLogger(__name__)
WEIGHTS = "weights.pt"


@dataclass(frozen=True)
class Protocol:
    """What is trained for how long, and what is measured when (a resolved config's own values)."""

    steps: int
    device: str
    evaluation: dict[str, Any]
    higher_is_better: bool

    @property
    def every(self) -> int:
        """Steps between two validations."""
        return min(self.evaluation["every"], self.steps)


def quiet() -> None:
    """Lightning's greetings and its advice on worker processes, which streamed batches have no use for."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    warnings.filterwarnings("ignore", message=".*`IterableDataset` has `__len__` defined.*")
    warnings.filterwarnings("ignore", message=".*exists and is not empty.*")
    warnings.filterwarnings("ignore", message=".*training_step. returned .None.*")
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*is deprecated.*")
    warnings.filterwarnings("ignore", message=".*The `srun` command is available.*")


def readable(checkpoint: Path | None) -> Path | None:
    """The checkpoint, or None where there is none or it was cut short: the run then starts again."""
    if checkpoint is None:
        return None
    try:
        torch.load(checkpoint, map_location="cpu", weights_only=True)["history"]
    except Exception as error:
        log.warning("%s: cannot be read (%s); the run starts again", checkpoint, type(error).__name__)
        return None
    return checkpoint


def compile_stack(stack: nn.Module) -> None:
    """Compile in place, for sequences of any length; one warning, and nothing else, where torch finds no C++ compiler."""
    compilers = [name for name in (os.environ.get("CXX"), "g++", "clang++", "cl") if name]
    if not any(shutil.which(name) for name in compilers):
        log.warning("compile=true: none of %s is found, so the run goes on uncompiled", ", ".join(compilers))
        return
    stack.compile(dynamic=True)


def make_trainer(protocol: Protocol, callbacks: list[L.Callback], wandb_run: Any, show_progress: bool) -> L.Trainer:
    return L.Trainer(
        accelerator={"cuda": "gpu"}.get(protocol.device, protocol.device),
        devices=1,
        max_steps=protocol.steps,
        max_epochs=-1,
        val_check_interval=protocol.every,
        check_val_every_n_epoch=None,
        callbacks=callbacks + ([TQDMProgressBar(refresh_rate=50)] if show_progress else []),
        # One process per run, also inside a Slurm job, whose signals are ours to answer.
        plugins=[LightningEnvironment()],
        logger=WandbMetrics(wandb_run) if wandb_run is not None else False,
        enable_progress_bar=show_progress,
        enable_checkpointing=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def train(
    tagger: SequenceTagger,
    data: Any,
    protocol: Protocol,
    directory: Path,
    wandb_run: Any = None,
    checkpoint: Path | None = None,
    show_progress: bool = False,
) -> dict[str, Any]:
    """Fit from `checkpoint` or from the start, select, re-measure and test; the part of result.json that was measured.

    The selected weights are written to `weights.pt`. A signal to stop is answered between two steps, with a checkpoint.
    """
    quiet()
    began = time.perf_counter()
    best = BestWeights(protocol.higher_is_better, last=protocol.evaluation["select_last"])
    callbacks = [best, Resumable(directory / CHECKPOINT, protocol.every), Heartbeat(protocol.steps)]
    trainer = make_trainer(protocol, callbacks, wandb_run, show_progress)
    with deferred():
        trainer.fit(tagger, datamodule=data, ckpt_path=readable(checkpoint), weights_only=True)
    if not tagger.diverged and tagger.history[-1]["step"] != protocol.steps:
        trainer.validate(tagger, datamodule=data, verbose=False)
    fresh, scores = None, None
    if not tagger.diverged:
        tagger.stack.load_state_dict(best.weights)
        fresh_loader = data.loader("fresh", protocol.evaluation["select_length"], protocol.evaluation["sequences"])
        trainer.test(tagger, dataloaders=[fresh_loader, *data.test_dataloader(), *data.every_length_loaders()], verbose=False)
        fresh, *scores = tagger.tested
        save_weights(best.weights, directory / WEIGHTS)
    return {
        **result.fit_record(tagger, best.best, fresh, protocol.evaluation["bar"], protocol.higher_is_better),
        **length_records(tagger, data, protocol.evaluation["lengths"], scores),
        **result.stack_facts(tagger.stack),
        "seconds": time.perf_counter() - began,
        **stages(data.curriculum),
    }


def length_records(tagger: SequenceTagger, data: Any, lengths: list[int], scores: list[Scores] | None) -> dict[str, Any]:
    """Scores at the test lengths, at every length where that was asked for, and the longest of all that is right nine times in ten."""
    chosen, rest = (scores[: len(lengths)], scores[len(lengths) :]) if scores else (None, None)
    record = result.length_record(tagger, lengths, chosen) | result.every_length_record(tagger, data.passes, rest)
    return record | result.longest_above(record)


def stages(curriculum: Any) -> dict[str, Any]:
    """Where a curriculum followed the run: each length with the first step that had it."""
    reached = getattr(curriculum, "stages", None)
    return {} if reached is None else {"stages": [{"step": step, "length": length} for step, length in reached]}
