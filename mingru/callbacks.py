"""What happens beside the training steps: the best weights are kept, and the run can go on after an interruption."""

import os
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor


class BestWeights(L.Callback):
    """Keeps the weights of the best validation: strictly better ones replace them, so the earliest of equals stays."""

    def __init__(self, higher_is_better: bool) -> None:
        self.sign = 1.0 if higher_is_better else -1.0
        self.best: dict[str, Any] | None = None
        self.weights: dict[str, Tensor] | None = None

    def on_validation_end(self, trainer: L.Trainer, tagger: Any) -> None:
        if trainer.sanity_checking or tagger.diverged:
            return
        latest = tagger.history[-1]
        if self.best is None or self.sign * (latest[tagger.score] - self.best[tagger.score]) > 0:
            self.best = dict(latest)
            self.weights = {name: value.detach().cpu().clone() for name, value in tagger.stack.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best, self.weights = state_dict["best"], state_dict["weights"]


class Resumable(L.Callback):
    """Writes one checkpoint after each validation, whole or not at all: a temporary file, then a rename."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def on_validation_end(self, trainer: L.Trainer, tagger: Any) -> None:
        if not tagger.diverged:
            self.save(trainer)

    def save(self, trainer: L.Trainer) -> None:
        temporary = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        try:
            trainer.save_checkpoint(temporary)
            os.replace(temporary, self.file)
        finally:
            temporary.unlink(missing_ok=True)


def save_weights(weights: dict[str, Tensor], file: Path) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        torch.save(weights, temporary)
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)
