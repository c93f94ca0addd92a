"""What mixers share whose state is blocks of channels, moved as a whole by the token."""

from __future__ import annotations

import torch
from torch import Tensor

from mingru.mixers.base import multiples_near, require_positive


def injected(parts: dict[str, Tensor], state_shape: tuple[int, ...], like: Tensor) -> Tensor:
    """sigmoid(gate) * candidate, or nothing where the projection has no such heads; (B, T, N, K)."""
    if "gate" not in parts:
        return like.new_zeros(*like.shape[:2], *state_shape)
    return (torch.sigmoid(parts["gate"]) * parts["candidate"]).unflatten(-1, state_shape)


def require_blocks(mixer: str, d_model: int, block_size: int) -> None:
    require_positive(mixer, "block_size", block_size)
    if d_model < 1 or d_model % block_size:
        near = multiples_near(d_model, block_size)
        raise ValueError(
            f"{mixer}: d_model must be a multiple of block_size {block_size}, got {d_model}; the nearest valid choice is {near}"
        )
