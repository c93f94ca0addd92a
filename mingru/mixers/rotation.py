"""Planar blocks that rotate and reflect."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer, multiples_near
from mingru.mixers.projection import Projection
from mingru.ops.rotation_scan import rotation_scan
from mingru.types import Inputs, Outputs, State


class Rotation(Mixer):
    """Each pair of channels turns by an angle and is scaled, or reflected, along its second axis.

    h[t] = R(theta[t]) @ diag(1, tanh(u(x[t]))) @ h[t-1] + sigmoid(z(x[t])) * v(x[t])

    With `snap`, block j turns by multiples of 2 pi / snap[j % len(snap)]; the gradient passes the rounding straight
    through. With snap=None the angle is free. Only the angle is snapped, never the scale. Angles are in radians, the
    initial state is learned.

    Source: the published ladder (mingru-scans 0.2.0). Departure: the snapped angle is taken modulo a full turn, so that
    equal turns are equal numbers however large the angle.
    """

    def __init__(
        self,
        d_model: int,
        snap: Sequence[int] | None = (2, 3, 4, 6),
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "rotation",
    ) -> None:
        if d_model < 1 or d_model % 2:
            raise ValueError(
                f"{name}: d_model must be even and positive, got {d_model}; the nearest valid choice is {multiples_near(d_model, 2)}"
            )
        n_blocks = d_model // 2
        super().__init__(name, d_model, (n_blocks, 2), decay, decay_rate, log1p_delta)
        self.snap = None if snap is None else checked_grid(name, snap)
        self.projection = Projection(d_model, {"gate": d_model, "candidate": d_model, "angle": n_blocks, "scale": n_blocks})
        self.h0 = nn.Parameter(torch.randn(n_blocks, 2) * 0.5)
        if self.snap is not None:
            # Integers, because a half-precision model would round the step itself.
            order = torch.tensor([self.snap[block % len(self.snap)] for block in range(n_blocks)])
            self.register_buffer("order", order, persistent=False)

    def margin(self, x: Inputs) -> Tensor | None:
        """The largest distance of an angle, before it is snapped, from the turn that it is snapped to, in radians."""
        if self.snap is None:
            return None
        angle = dict(zip(self.projection.widths, self.projection(x), strict=True))["angle"]
        step = 2 * math.pi / self.order.to(angle.dtype)
        return (angle - torch.round(angle / step) * step).abs().amax()

    def _start(self) -> Tensor:
        return self.h0

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        gate, candidate, angle, scale = self.projection(x)
        if self.snap is not None:
            angle = snapped(angle, self.order)
        drive = (torch.sigmoid(gate) * candidate).unflatten(-1, self.state_shape)
        states = rotation_scan(angle, torch.tanh(scale), drive, state, kept)
        return states.flatten(2), states[:, -1]

    def _token(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        from mingru.ops import one_token

        return one_token.rotation(self.projection, x_t, state, None if self.snap is None else self.order)


def snapped(angle: Tensor, order: Tensor) -> Tensor:
    """The nearest multiple of 2 pi / order, within [0, 2 pi); the gradient is that of the identity."""
    step = 2 * math.pi / order.to(angle.dtype)
    turns = torch.round(angle.detach() / step)
    # The second term is exactly zero: the value is the grid's, the gradient the angle's.
    return torch.remainder(turns, order) * step + (angle - angle.detach())


def checked_grid(mixer: str, snap: Sequence[int]) -> tuple[int, ...]:
    grid = tuple(snap)
    if not grid:
        raise ValueError(f"{mixer}: snap must hold at least one order, got []; the nearest valid choice is null")
    if min(grid) < 1:
        nearest = [max(order, 1) for order in grid]
        raise ValueError(f"{mixer}: snap must hold orders of at least 1, got {list(grid)}; the nearest valid choice is {nearest}")
    return grid
