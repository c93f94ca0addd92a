"""For how many tokens rounding cannot change an answer of a hardened model: the bound that docs/hardening.md derives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from mingru.analysis.exact import ExactLayer

# Beyond this no one counts.
MOST_TOKENS = 2**60


@dataclass(frozen=True)
class Growth:
    """The error of one block after T tokens is at most sigma^T * first + step * (sigma^T - 1) / (sigma - 1)."""

    first: float
    step: float
    sigma: float

    def after(self, tokens: int) -> float:
        if self.first == self.step == 0:
            return 0.0
        rate = math.log(self.sigma)
        if tokens * rate > 50:
            return math.inf
        grown = math.expm1(tokens * rate)
        return (1 + grown) * self.first + self.step * (grown / math.expm1(rate) if rate > 0 else tokens)


def unit_roundoff(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps / 2


def growth(hardening: ExactLayer, block: int, dtype: torch.dtype) -> Growth:
    """How the error of a block grows when its maps are rounded to `dtype` and each token is computed in it."""
    maps = hardening.exact
    linear, drive, start = (each.to(dtype).double() for each in (maps.linear[:, block], maps.drive[:, block], maps.start[block]))
    k, first = drive.shape[1], float((start - maps.start[block]).norm())
    if bool((linear == torch.eye(k, dtype=linear.dtype)).all()) and not drive.any():
        # Nothing is computed: the state is multiplied by one and zeros are added.
        return Growth(0.0, 0.0, 1.0)
    if not linear.any():
        # Nothing is carried on: the state is what the input says.
        return Growth(max(first, float((drive - maps.drive[:, block]).norm(dim=1).max())), 0.0, 1.0)
    # A sum of K products and the drive, in any order, fused or not.
    gamma = (k + 1) * unit_roundoff(dtype) / (1 - (k + 1) * unit_roundoff(dtype))
    largest_step, checked = 0.0, (k + 1) * unit_roundoff(torch.float64)
    for x, found, wanted in hardening.moves():
        size = found[:, block].abs() @ linear[x].abs().T + drive[x].abs()
        missed = (found[:, block] @ linear[x].T + drive[x] - wanted[:, block]).norm(dim=1)
        largest_step = max(largest_step, float((missed + (gamma + 2 * checked) * size.norm(dim=1)).max()))
    spectral = float(torch.linalg.matrix_norm(linear, ord=2).max())
    sigma = max(1.0, spectral + gamma * float(torch.linalg.matrix_norm(linear.abs(), ord=2).max()))
    return Growth(first, largest_step, sigma)


def safe_tokens(hardening: ExactLayer, radius: float, dtype: torch.dtype) -> int:
    """The largest number of tokens after which the state is still within `radius` of the exact one."""
    blocks = [growth(hardening, block, dtype) for block in range(hardening.exact.n_blocks)]

    def within(tokens: int) -> bool:
        return math.hypot(*(block.after(tokens) for block in blocks)) < radius

    low, high = 0, 1
    while high < MOST_TOKENS and within(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if within(middle) else (low, middle)
    return low


def largest_miss(hardening: ExactLayer) -> float:
    """max over inputs and the states that they find of |the map of the state - the state it should be|, all blocks together, in float64."""
    largest = 0.0
    for x, found, wanted in hardening.moves():
        missed = (hardening.exact.linear[x] @ found.unsqueeze(-1)).squeeze(-1) + hardening.exact.drive[x] - wanted
        largest = max(largest, float(missed.flatten(1).norm(dim=1).max()))
    return largest
