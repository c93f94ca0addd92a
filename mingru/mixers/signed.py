"""minGRU whose states may flip sign."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer
from mingru.mixers.projection import Projection
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.types import Inputs, Outputs, State


class Signed(Mixer):
    """minGRU whose decay lies in (-1, 1): a state may flip sign, which is what parity needs.

    h[t] = a[t] * h[t-1] + z[t] * v(x[t]),  z = sigmoid(k(x)),  a = tanh(s(x));  coupled: a = (1 - z) * tanh(s(x))

    Coupled, a channel that writes also forgets, so that no channel holds a sign for long.

    Source: gate, Feng et al. 2024, arXiv:2410.01201; negative eigenvalue, Grazzi et al. 2024, arXiv:2411.12537.
    """

    def __init__(
        self,
        d_model: int,
        coupled: bool = False,
        learnable_h0: bool = False,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "signed",
    ) -> None:
        super().__init__(name, d_model, (d_model,), decay, decay_rate, log1p_delta)
        self.coupled = coupled
        self.projection = Projection(d_model, {"gate": d_model, "candidate": d_model, "decay": d_model})
        self.h0 = nn.Parameter(torch.zeros(d_model)) if learnable_h0 else None

    def margin(self, x: Inputs) -> Tensor:
        """What the channel that keeps a sign best may lose of it at a token: 1 - |a| at its largest; 0 loses nothing."""
        decay, _ = self._coefficients(x)
        return (1 - decay.abs()).amax((0, 1)).amin()

    def _start(self) -> Tensor:
        return self.h0 if self.h0 is not None else super()._start()

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        states = diagonal_scan(*self._coefficients(x, kept), state)
        return states, states[:, -1]

    def _mix_one(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        decay, drive = self._coefficients(x_t)
        state = decay * state + drive
        return state, state

    def _token(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        from mingru.ops import one_token

        return one_token.signed(self.projection, x_t, state, self.coupled)

    def _coefficients(self, x: Tensor, kept: Tensor | None = None) -> tuple[Tensor, Tensor]:
        gate, candidate, decay = self.projection(x)
        gate, decay = torch.sigmoid(gate), torch.tanh(decay)
        if self.coupled:
            decay = (1 - gate) * decay
        if kept is not None:
            decay = kept * decay
        return decay, gate * candidate
