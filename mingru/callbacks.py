"""What happens beside the training steps: the best weights are kept, and the run can go on after an interruption."""

from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor

from mingru.sweep import heartbeat, interruption
from mingru.sweep.records import whole


class BestWeights(L.Callback):
    """Keeps the weights of the best validation: strictly better ones replace them, so the earliest of equals stays.

    With `last`, those of the last validation, be they better or not.
    """

    def __init__(self, higher_is_better: bool, last: bool = False) -> None:
        self.sign = 1.0 if higher_is_better else -1.0
        self.last = last
        self.best: dict[str, Any] | None = None
        self.weights: dict[str, Tensor] | None = None

    def on_validation_end(self, trainer: L.Trainer, tagger: Any) -> None:
        if trainer.sanity_checking or tagger.diverged:
            return
        latest = tagger.history[-1]
        if self.best is None or self.last or self.sign * (latest[tagger.score] - self.best[tagger.score]) > 0:
            self.best = dict(latest)
            self.weights = {name: value.detach().cpu().clone() for name, value in tagger.stack.state_dict().items()}

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best, "weights": self.weights}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best, self.weights = state_dict["best"], state_dict["weights"]


class Resumable(L.Callback):
    """Writes a checkpoint after each validation, and when the run is asked to stop, which it then does."""

    def __init__(self, file: Path, every: int) -> None:
        self.file, self.every = file, every

    def on_train_start(self, trainer: L.Trainer, tagger: Any) -> None:
        # The trainer has just put a handler of its own before ours, which would stop in the middle of a validation.
        interruption.listen()

    def on_train_batch_end(self, trainer: L.Trainer, tagger: Any, *_: Any) -> None:
        if interruption.asked() is not None and self.save(trainer):
            interruption.stop_if_asked()

    def on_validation_end(self, trainer: L.Trainer, tagger: Any) -> None:
        if self.save(trainer):
            interruption.stop_if_asked()

    def save(self, trainer: L.Trainer) -> bool:
        """Save now, whole or not at all, and tell whether it was done.

        Not before a validation that is due, which a resumed run would not make up for, nor once the run has diverged.
        """
        step, tagger = trainer.global_step, trainer.lightning_module
        due = step % self.every == 0 and (not tagger.history or tagger.history[-1]["step"] != step)
        if due or tagger.diverged:
            return False
        with whole(self.file) as temporary:
            trainer.save_checkpoint(temporary)
        return True


class Heartbeat(L.Callback):
    """Tells the sweep how far the run is."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_validation_end(self, trainer: L.Trainer, tagger: Any) -> None:
        heartbeat.beat(trainer.global_step / self.steps)


def save_weights(weights: dict[str, Tensor], file: Path) -> None:
    with whole(file) as temporary:
        torch.save(weights, temporary)
