"""Wrong answers counted over sequences of any length, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.metrics import IGNORE
from mingru.stack import Stack

TOKENS_AT_ONCE = 2**14


@dataclass
class Count:
    """`first` is the earliest position, from 1, of a wrong answer; None where there is none."""

    tokens: int = 0
    sequences: int = 0
    wrong: int = 0
    wrong_sequences: int = 0
    first: int | None = None

    @property
    def accuracy(self) -> float:
        return 1 - self.wrong / max(self.tokens, 1)

    @property
    def sequence_accuracy(self) -> float:
        return 1 - self.wrong_sequences / max(self.sequences, 1)


@torch.inference_mode()
def count(stack: Stack, batches: Iterable[tuple[Tensor, Tensor]]) -> Count:
    """Over batches of whole sequences (inputs, targets), each (B, T); the state is carried from piece to piece."""
    total = Count()
    for inputs, targets in batches:
        wrong = torch.zeros(len(inputs), dtype=torch.bool)
        state, piece = None, max(1, TOKENS_AT_ONCE // len(inputs))
        for start in range(0, inputs.shape[1], piece):
            part = slice(start, start + piece)
            logits, state = stack(inputs[:, part], state)
            missed = (logits.argmax(-1) != targets[:, part]) & (targets[:, part] != IGNORE)
            if missed.any():
                found = start + 1 + int(missed.any(0).int().argmax())
                total.first = found if total.first is None else min(found, total.first)
            total.wrong += int(missed.sum())
            wrong |= missed.any(1)
        total.tokens += int((targets != IGNORE).sum())
        total.sequences += len(inputs)
        total.wrong_sequences += int(wrong.sum())
    return total
