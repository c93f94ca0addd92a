"""Training and scoring of a stack; it knows losses and counts, and nothing of the architecture or the task."""

from collections.abc import Callable
from typing import Any

import lightning as L
import torch
from torch import nn

from mingru.margins import margins
from mingru.metrics import Scores, last_accuracy, loss_sum
from mingru.schedules import Schedule

LOG_EVERY = 50


class SequenceTagger(L.LightningModule):
    """Cross-entropy (or squared error) averaged over scored positions, Adam without weight decay.

    The rate is `lr`, times `schedule` of the step where there is one; `clip` is the largest norm that the gradient of all
    weights may have. `history` holds one `{step, accuracy | error, loss}` per validation, with a `margin_<layer>_<mixer>` for
    each layer that has one; `diverged` becomes true, and training stops, at the first loss that is not finite. `tested`
    holds the scores of the last `trainer.test`, one per dataloader. `observe` is told of every training batch: its number,
    and its accuracy at the last scored position of each sequence, before the weights move.

    A step is spelled out, since the trainer's own calls three more hooks of every callback, none of which is used here.
    """

    def __init__(
        self,
        stack: nn.Module,
        lr: float,
        regression: bool = False,
        observe: Callable[[int, float], None] | None = None,
        schedule: Schedule | None = None,
        clip: float | None = None,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.stack = stack
        self.lr = lr
        self.observe = observe
        self.schedule, self.clip = schedule, clip
        self.score = "error" if regression else "accuracy"
        self.diverged = False
        self.history: list[dict[str, Any]] = []
        self.tested: list[Scores] = []
        self._validation = Scores()
        self._margins: dict[str, float] = {}

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.stack.parameters(), lr=self.lr)
        if self.schedule is None:
            return optimizer
        return [optimizer], [torch.optim.lr_scheduler.LambdaLR(optimizer, self.schedule)]

    def training_step(self, batch: Any, batch_index: int) -> None:
        logits, _ = self.stack(batch.inputs, None, batch.delta_t)
        loss, count = loss_sum(logits, batch.targets)
        loss = loss / max(count, 1)
        logging = self.global_step % LOG_EVERY == 0
        # On a GPU every look at the loss waits for the device, so it is looked at less often.
        if (logging or loss.device.type == "cpu") and not torch.isfinite(loss):
            self.diverge()
            return
        if self.observe is not None:
            self.observe(self.global_step, last_accuracy(logits.detach(), batch.targets))
        if logging and self.logger is not None:
            self.logger.log_metrics({"train/loss": float(loss.detach())}, step=self.global_step + 1)
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.stack.parameters(), self.clip)
        optimizer.step()
        if self.schedule is not None:
            self.lr_schedulers().step()

    def diverge(self) -> None:
        self.diverged = True
        self.trainer.should_stop = True

    def on_validation_epoch_start(self) -> None:
        self._validation = Scores()

    def validation_step(self, batch: Any, batch_index: int) -> None:
        self._validation.update(self.stack, batch)
        if batch_index == 0:
            self._margins = margins(self.stack, batch.inputs, batch.delta_t)

    def on_validation_epoch_end(self) -> None:
        scores = self._validation
        value = scores.mean_loss if self.score == "error" else scores.accuracy
        self.history.append({"step": self.global_step, self.score: value, "loss": scores.mean_loss, **self._margins})
        if not torch.isfinite(torch.tensor(scores.mean_loss)):
            self.diverge()
        if self.logger is not None:
            metrics = {f"validation/{key}": number for key, number in self.history[-1].items() if key != "step"}
            self.logger.log_metrics(metrics, step=self.global_step)

    def on_test_start(self) -> None:
        self.tested = [Scores() for _ in self.trainer.test_dataloaders]

    def test_step(self, batch: Any, batch_index: int, dataloader_idx: int = 0) -> None:
        self.tested[dataloader_idx].update(self.stack, batch)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["history"] = self.history

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.history = checkpoint["history"]
