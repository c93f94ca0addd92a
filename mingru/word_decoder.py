"""The head `autoencode`: a whole word from the one vector that is left at its end."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class WordDecoder(nn.Module):
    """Logits (B, length, n_outputs) from x (B, D): x and a place, through two layers of an MLP with norms, to every position.

    Source: MAD's auto-encoder, Poli et al. 2024, arXiv:2403.17844. Departures: LayerNorm, and torch's initial weights.
    """

    def __init__(self, d_model: int, n_outputs: int) -> None:
        super().__init__()
        halves = [part for _ in range(2) for part in (nn.LayerNorm(d_model), nn.Linear(d_model, d_model), nn.GELU())]
        self.layers = nn.Sequential(*halves, nn.LayerNorm(d_model), nn.Linear(d_model, n_outputs))

    def forward(self, x: Tensor, length: int) -> Tensor:
        return self.layers(x.unsqueeze(1) + places(0, length, x))


def places(first: int, count: int, like: Tensor) -> Tensor:
    """Sine and cosine of the positions first, first + 1, ... at wavelengths from 2 pi to 20,000 pi: (count, D), D as in `like`.

    Source: Vaswani et al. 2017, arXiv:1706.03762. They need no longest length, as places that are learned do.
    """
    half = like.shape[-1] // 2
    rates = torch.exp(torch.arange(half, device=like.device) * (-math.log(1e4) / max(half - 1, 1)))
    angles = (first + torch.arange(count, device=like.device)).unsqueeze(1) * rates
    return F.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, like.shape[-1] % 2)).to(like.dtype)
