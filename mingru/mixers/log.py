"""minGRU with positive states: the bottom of the ladder."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.arguments import values_can_be_read
from mingru.mixers.base import Mixer
from mingru.mixers.projection import Projection
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.types import Inputs, Outputs, State


class Log(Mixer):
    """minGRU: each channel is a running average of positive candidates, so it can forget but never flip.

    h[t] = (1 - z[t]) * h[t-1] + z[t] * g(v(x[t])),  z = sigmoid(k(x)),  g(u) = u + 0.5 where u >= 0, else sigmoid(u)

    A state below zero is a ValueError. The learned initial state is g(h0), 0.5 at the start.

    Source: Feng et al. 2024, arXiv:2410.01201, appendix B. They compute it as a scan of logarithms, which gives the
    mixer its name; a sequential kernel needs none, and is exact at a state of zero.
    """

    def __init__(
        self,
        d_model: int,
        learnable_h0: bool = False,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "log",
    ) -> None:
        super().__init__(name, d_model, (d_model,), decay, decay_rate, log1p_delta)
        self.projection = Projection(d_model, {"gate": d_model, "candidate": d_model})
        self.h0 = nn.Parameter(torch.zeros(d_model)) if learnable_h0 else None

    def check_state(self, state: Tensor, batch: int) -> None:
        super().check_state(state, batch)
        if values_can_be_read():
            self._check_sign(state)

    def _check_sign(self, state: Tensor) -> None:
        if (smallest := state.min().item()) < 0:
            raise ValueError(f"{self.name}: state must not be negative, got a minimum of {smallest:.3g}")

    def _start(self) -> Tensor:
        return positive(self.h0) if self.h0 is not None else self._weight.new_full(self.state_shape, 0.5)

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        states = diagonal_scan(*self._coefficients(x, kept), state)
        return states, states[:, -1]

    def _mix_one(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        decay, drive = self._coefficients(x_t)
        state = decay * state + drive
        return state, state

    def _token(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        from mingru.ops import one_token

        self._check_sign(state)
        return one_token.log(self.projection, x_t, state)

    def _coefficients(self, x: Tensor, kept: Tensor | None = None) -> tuple[Tensor, Tensor]:
        gate, candidate = self.projection(x)
        gate = torch.sigmoid(gate)
        decay = 1 - gate if kept is None else kept * (1 - gate)
        return decay, gate * positive(candidate)


def positive(u: Tensor) -> Tensor:
    """g(u): continuous, positive, and with slope 1 from zero on."""
    return torch.where(u >= 0, u + 0.5, torch.sigmoid(u))
