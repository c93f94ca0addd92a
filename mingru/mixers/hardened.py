"""The mixer of a hardened run: one map for each token, read from a trained model and made exact."""

from __future__ import annotations

import torch
from torch import Tensor

from mingru.mixers.base import Mixer, require_positive
from mingru.mixers.blocks import require_blocks
from mingru.ops.block_scan import block_scan
from mingru.types import Inputs, Outputs, State


class Hardened(Mixer):
    """Each block of channels is moved by the affine map of the token whose input is nearest.

    h[t] = linear[x] h[t-1] + drive[x],  x = the entry of `inputs` next to x[t]

    There is nothing to train: mingru.analysis.hardening fills the buffers, and a hardened run keeps them. They are float64, and the
    recurrence runs in the dtype of the model, as everywhere.
    """

    def __init__(self, d_model: int, n_tokens: int = 1, block_size: int = 1, name: str = "hardened") -> None:
        require_positive(name, "n_tokens", n_tokens)
        require_blocks(name, d_model, block_size)
        n_blocks = d_model // block_size
        super().__init__(name, d_model, (n_blocks, block_size))
        self.register_buffer("inputs", torch.zeros(n_tokens, d_model))
        self.register_buffer("linear", torch.eye(block_size, dtype=torch.float64).repeat(n_tokens, n_blocks, 1, 1))
        self.register_buffer("drive", torch.zeros(n_tokens, n_blocks, block_size, dtype=torch.float64))
        self.register_buffer("start", torch.zeros(n_blocks, block_size, dtype=torch.float64))

    def _start(self) -> Tensor:
        return self.start

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        token = self._nearest(x)
        states = block_scan(self.linear.to(state.dtype)[token], self.drive.to(state.dtype)[token], state)
        return states.flatten(2), states[:, -1]

    def _nearest(self, x: Tensor) -> Tensor:
        """The token whose input is nearest, (B, T): |x - c|^2 without the part that all share."""
        wide = torch.promote_types(self.inputs.dtype, torch.float32)
        inputs, x = self.inputs.to(wide), x.detach().to(wide)
        return (0.5 * inputs.square().sum(-1) - x @ inputs.T).argmin(-1)

    @property
    def _weight(self) -> Tensor:
        return self.inputs
