"""Blocks of channels turned by rounds of Givens rotations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer, multiples_near, require_positive
from mingru.mixers.blocks import require_blocks
from mingru.mixers.projection import Projection
from mingru.ops.givens_scan import givens_scan
from mingru.types import Inputs, Outputs, State


class Givens(Mixer):
    """Each block of channels is multiplied by an orthogonal matrix of determinant 1 that depends on the token.

    h[t] = G_R-1 ... G_1 G_0 h[t-1] + sigmoid(z(x[t])) * v(x[t])

    Round r turns block_size / 2 disjoint planes at once: (0,1) (2,3) ... in even rounds, (1,2) (3,4) ... (K-1,0) in odd
    ones, each by its own angle in radians, as the projection gives it. The initial state is learned.

    Source: the published ladder (mingru-scans 0.2.0).
    """

    def __init__(
        self,
        d_model: int,
        block_size: int = 8,
        rounds: int = 3,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "givens",
    ) -> None:
        require_even_blocks(name, d_model, block_size)
        require_positive(name, "rounds", rounds)
        n_blocks = d_model // block_size
        super().__init__(name, d_model, (n_blocks, block_size), decay, decay_rate, log1p_delta)
        self.rounds = rounds
        self.angle_shape = (n_blocks, rounds, block_size // 2)
        self.projection = Projection(d_model, {"angle": d_model // 2 * rounds, "gate": d_model, "candidate": d_model})
        self.h0 = nn.Parameter(torch.randn(n_blocks, block_size) * 0.5)

    def _start(self) -> Tensor:
        return self.h0

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        angle, gate, candidate = self.projection(x)
        drive = (torch.sigmoid(gate) * candidate).unflatten(-1, self.state_shape)
        states = givens_scan(angle.unflatten(-1, self.angle_shape), drive, state, kept)
        return states.flatten(2), states[:, -1]

    def _token(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        from mingru.ops import one_token

        return one_token.givens(self.projection, x_t, state, self.rounds)


def require_even_blocks(mixer: str, d_model: int, block_size: int) -> None:
    if block_size < 2 or block_size % 2:
        raise ValueError(
            f"{mixer}: block_size must be even and positive, got {block_size}; the nearest valid choice is {multiples_near(block_size, 2)}"
        )
    require_blocks(mixer, d_model, block_size)
