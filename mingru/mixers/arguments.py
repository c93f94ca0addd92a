"""Time gaps as mixers and stacks take them, and when a value may be looked at."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

# What an infinite gap is taken for.
LONGEST_GAP = 1e10


def read_gaps(name: str, delta_t: Tensor, like: Tensor, dtype: torch.dtype) -> Tensor:
    """The gap before each position of `like` (B, T, D) or (B, D), in `dtype`: (B, T) or (B,).

    `delta_t` may have a last axis of 1 besides. NaN and what is below zero count as no gap, infinity as 1e10; on a CPU
    a warning says so. Another shape or device is a ValueError that begins with `name`.
    """
    wanted = tuple(like.shape[:-1])
    if tuple(delta_t.shape) not in (wanted, (*wanted, 1)):
        raise ValueError(f"{name}: delta_t must have shape {wanted}, got {tuple(delta_t.shape)}")
    if delta_t.device != like.device:
        raise ValueError(f"{name}: delta_t must be on {like.device}, got {delta_t.device}")
    given = delta_t.reshape(wanted).to(dtype)
    gaps = torch.nan_to_num(given, nan=0.0, posinf=LONGEST_GAP).clamp(min=0)
    if given.device.type == "cpu" and values_can_be_read() and not torch.equal(gaps, given):
        warnings.warn(f"{name}: delta_t has gaps that are NaN, infinite or below zero; they count as 0, 1e10 and 0", stacklevel=2)
    return gaps


def values_can_be_read() -> bool:
    """A compiled graph and a batch of seeds (vmap) cannot look at values."""
    return not (torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active())
