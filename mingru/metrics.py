"""Scores of a stack on whole batches, in bounded memory at any length."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

IGNORE = -100
# Tokens of one pass through the stack: longer batches go through in pieces with carried state.
TOKENS_AT_ONCE = 2**17


def loss_sum(logits: Tensor, targets: Tensor) -> tuple[Tensor, int]:
    """Summed cross-entropy over the scored positions, or squared error over all elements of real-valued targets; and their number."""
    if targets.is_floating_point():
        return functional.mse_loss(logits, targets, reduction="sum"), targets.numel()
    loss = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORE, reduction="sum")
    return loss, int((targets != IGNORE).sum())


def last_accuracy(logits: Tensor, targets: Tensor) -> float:
    """Share of sequences answered rightly at the last position that is scored; all of them have one."""
    if targets.dim() > 1:
        # argmax takes the first of equals: the position from which the count of scored ones stays as it is.
        last = (targets != IGNORE).cumsum(1).argmax(1)
        row = torch.arange(len(targets), device=targets.device)
        logits, targets = logits[row, last], targets[row, last]
    return (logits.argmax(-1) == targets).float().mean().item()


def run_in_pieces(stack: nn.Module, inputs: Tensor, delta_t: Tensor | None) -> Tensor:
    """The stack's outputs for whole sequences; no more than TOKENS_AT_ONCE tokens are in flight."""
    batch, length = inputs.shape[:2]
    piece = max(1, TOKENS_AT_ONCE // batch)
    if length <= piece:
        return stack(inputs, None, delta_t)[0]
    outputs, state = [], None
    for start in range(0, length, piece):
        gaps = None if delta_t is None else delta_t[:, start : start + piece]
        logits, state = stack(inputs[:, start : start + piece], state, gaps)
        outputs.append(logits)
    # Some heads answer for the whole sequence with its last piece.
    whole = outputs[-1].dim() == 2 or outputs[-1].shape[1] == length
    return outputs[-1] if whole else torch.cat(outputs, dim=1)


@dataclass
class Scores:
    """Counts over the batches seen so far; every average is weighted by tokens or sequences, never by batches."""

    loss: float = 0.0
    scored: int = 0
    correct: int = 0
    sequences: int = 0
    sequences_correct: int = 0
    position_correct: Tensor | None = field(default=None, repr=False)
    position_scored: Tensor | None = field(default=None, repr=False)

    @torch.no_grad()
    def update(self, stack: nn.Module, batch: Any) -> None:
        logits = run_in_pieces(stack, batch.inputs, batch.delta_t).float()
        loss, count = loss_sum(logits, batch.targets)
        self.loss += float(loss)
        self.scored += count
        self.sequences += batch.inputs.shape[0]
        if not batch.targets.is_floating_point():
            self._count(logits.argmax(-1), batch.targets)

    def _count(self, predicted: Tensor, targets: Tensor) -> None:
        scored = targets != IGNORE
        right = (predicted == targets) & scored
        self.correct += int(right.sum())
        self.sequences_correct += int((right == scored).flatten(1).all(1).sum()) if targets.dim() > 1 else int(right.sum())
        if targets.dim() > 1:
            if self.position_correct is None:
                self.position_correct = torch.zeros(targets.shape[1], dtype=torch.long)
                self.position_scored = torch.zeros(targets.shape[1], dtype=torch.long)
            self.position_correct += right.sum(0).cpu()
            self.position_scored += scored.sum(0).cpu()

    @property
    def mean_loss(self) -> float:
        return self.loss / max(self.scored, 1)

    @property
    def accuracy(self) -> float:
        """Share of scored tokens that are right."""
        return self.correct / max(self.scored, 1)

    @property
    def sequence_accuracy(self) -> float:
        """Share of sequences without a wrong scored token."""
        return self.sequences_correct / max(self.sequences, 1)

    def accuracy_to(self, length: int) -> float | None:
        """Accuracy over the first `length` positions; null where nothing is scored."""
        if self.position_correct is None or self.position_scored is None:
            return self.accuracy
        return ratio(self.position_correct[:length], self.position_scored[:length])

    def accuracy_at(self, length: int) -> float | None:
        """Accuracy at position `length`, counted from 1; null where it is not scored."""
        if self.position_correct is None or self.position_scored is None:
            return self.accuracy
        return ratio(self.position_correct[length - 1], self.position_scored[length - 1])

    def position_accuracy(self, windows: int = 256) -> list[float | None]:
        """Accuracy along the sequence in at most `windows` equal stretches; null where nothing is scored."""
        if self.position_correct is None or self.position_scored is None:
            return []
        pieces = zip(
            self.position_correct.tensor_split(min(windows, len(self.position_correct))),
            self.position_scored.tensor_split(min(windows, len(self.position_scored))),
            strict=True,
        )
        return [ratio(right, scored) for right, scored in pieces]


def ratio(right: Tensor, scored: Tensor) -> float | None:
    return int(right.sum()) / int(scored.sum()) if scored.any() else None
