"""The mixers of hardened runs: what was read from a trained model, and made exact. Nothing of them is trained."""

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
        token = nearest(self.inputs, x)
        states = block_scan(self.linear.to(state.dtype)[token], self.drive.to(state.dtype)[token], state)
        return states.flatten(2), states[:, -1]

    @property
    def _weight(self) -> Tensor:
        return self.inputs


class HardenedExtractor(Mixer):
    """All layers below the last, held: a vector for each position within an element and the last `period` tokens.

    y[t] = outputs[t mod period, x[t-period+1], ..., x[t]],  x = the entry of `inputs` next to x[t]

    It counts and remembers without error. The state is (position, the last period - 1 tokens, oldest first), whole numbers, and `start`
    is that of the middle of a sequence, so that there are tokens before the first. mingru.analysis.held fills the buffers.
    """

    bare = True

    def __init__(self, d_model: int, n_tokens: int = 1, period: int = 1, name: str = "hardened_extractor") -> None:
        require_positive(name, "n_tokens", n_tokens)
        require_positive(name, "period", period)
        super().__init__(name, d_model, (period,))
        self.register_buffer("inputs", torch.zeros(n_tokens, d_model))
        self.register_buffer("outputs", torch.zeros(period * n_tokens**period, d_model))
        self.register_buffer("start", torch.zeros(period))

    def situations(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Which row of `outputs` each of the tokens (B, T) is answered with, (B, T), and the state (B, period) after them."""
        n, period, length = len(self.inputs), self.state_size, tokens.shape[1]
        whole = state.round().long()
        seen = torch.cat([whole[:, 1:], tokens], dim=1)
        found = (whole[:, :1] + torch.arange(length, device=tokens.device)) % period
        for ago in range(period):
            found = found * n + seen[:, ago : ago + length]
        return found, torch.cat([(whole[:, :1] + length) % period, seen[:, length:]], dim=1).to(state.dtype)

    def _start(self) -> Tensor:
        return self.start

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        found, state = self.situations(nearest(self.inputs, x), state)
        return self.outputs[found], state

    @property
    def _weight(self) -> Tensor:
        return self.inputs


def nearest(inputs: Tensor, x: Tensor) -> Tensor:
    """The entry of `inputs` (n, D) next to x (B, T, D), as (B, T): |x - c|^2 without the part that all share.

    In float64: some entries are so near to one another that float32 would not tell their squares apart.
    """
    inputs, x = inputs.double(), x.detach().double()
    return (0.5 * inputs.square().sum(-1) - x @ inputs.T).argmin(-1)
