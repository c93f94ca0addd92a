"""Blocks of channels multiplied by products of reflections."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer, multiples_near, require_positive
from mingru.mixers.blocks import injected, require_blocks
from mingru.mixers.projection import Projection
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.unit_vectors import unit_vectors
from mingru.types import Inputs, Outputs, State

BETAS = ("fixed", "learned", "spare")


class Reflection(Mixer):
    """Each block of channels is multiplied by n_householder generalised reflections that depend on the token.

    h[t] = F_J-1 ... F_1 F_0 h[t-1],  F_j = I - beta_j k_j k_j^T  with |k_j| = 1;  + sigmoid(z(x[t])) * v(x[t]) with injection

    beta "fixed": all are 2, and the product is exactly orthogonal, of determinant 1 if n_householder is even. If it were
    odd, no token could be the identity, so that is a ValueError. "learned": beta = 2 sigmoid(.) in (0, 2). "spare": 2 for all
    but the last, which is learned and may be left out. The initial state is learned, and begins as N(0, 1).

    Source: products of reflections, Siems et al. 2025, arXiv:2502.10297; eigenvalues in [-1, 1], Grazzi et al. 2024,
    arXiv:2411.12537; a vector state with a learned start and no drive, Howe 2026, arXiv:2609.18966. Departures from the
    first: a vector per block in place of a matrix per head, so that tokens act on a state that is there from the start and
    nothing need be written into it; no query. From the last: blocks, each of a start of N(0, 1).
    """

    def __init__(
        self,
        d_model: int,
        block_size: int = 8,
        n_householder: int = 4,
        beta: str = "fixed",
        injection: bool = False,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "reflection",
    ) -> None:
        require_blocks(name, d_model, block_size)
        require_positive(name, "n_householder", n_householder)
        if beta not in BETAS:
            raise ValueError(f"{name}: beta must be fixed, learned or spare, got {beta!r}")
        if beta == "fixed" and n_householder % 2:
            near = multiples_near(n_householder, 2)
            raise ValueError(
                f"{name}: an odd number of exact reflections cannot be the identity, got n_householder={n_householder} with beta=fixed; "
                f"the nearest valid choice is {near}, or beta=spare"
            )
        n_blocks = d_model // block_size
        super().__init__(name, d_model, (n_blocks, block_size), decay, decay_rate, log1p_delta)
        self.n_householder = n_householder
        self.n_learned = {"fixed": 0, "learned": n_householder, "spare": 1}[beta]
        heads = {"key": [d_model] * n_householder}
        if self.n_learned:
            heads["strength"] = [n_blocks] * self.n_learned
        if injection:
            heads |= {"gate": d_model, "candidate": d_model}
        self.projection = Projection(d_model, heads)
        self.h0 = nn.Parameter(torch.randn(n_blocks, block_size))

    def _start(self) -> Tensor:
        return self.h0

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        key, strength, drive = self._coefficients(x)
        states = reflection_scan(key, strength, drive, state, kept)
        return states.flatten(2), states[:, -1]

    def _coefficients(self, x: Inputs) -> tuple[Tensor, Tensor, Tensor]:
        """Keys of length 1 (B, T, J, N, K), strengths (B, T, J, N) and the drive (B, T, N, K)."""
        n_blocks, block_size = self.state_shape
        parts = dict(zip(self.projection.widths, self.projection(x), strict=True))
        key = unit_vectors(parts["key"].unflatten(-1, (-1, block_size))).unflatten(2, (self.n_householder, n_blocks))
        strength = key.new_full((*key.shape[:2], self.n_householder - self.n_learned, n_blocks), 2.0)
        if self.n_learned:
            learned = 2 * torch.sigmoid(parts["strength"].unflatten(-1, (self.n_learned, n_blocks)))
            strength = torch.cat([strength, learned], dim=2)
        return key, strength, injected(parts, self.state_shape, key)
