"""The nonlinear recurrence that the linear ones are held against."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer
from mingru.types import Outputs, State, Vectors


class GRU(Mixer):
    """torch's GRU of one layer under the mixers' contract: the ceiling of what a vector state can learn here.

    bare=True is the reference's control: a block puts no norm, residual or MLP around it, and a stack of vectors no entry
    layer before it. d_input is then the width of those vectors, which the stack gives; d_model otherwise.

    Source: Cho et al. 2014, arXiv:1406.1078, in torch.nn.GRU's form.
    """

    def __init__(self, d_model: int, bare: bool = False, d_input: int | None = None, name: str = "gru") -> None:
        super().__init__(name, d_model, (d_model,))
        self.bare = bare
        self.d_input = d_model if d_input is None else d_input
        self.cell = nn.GRU(self.d_input, d_model, batch_first=True)

    @property
    def _weight(self) -> Tensor:
        return self.cell.weight_ih_l0

    def _mix(self, x: Vectors, state: State) -> tuple[Outputs, State]:
        start = state.unsqueeze(0).contiguous()
        # Autocast would keep the state in bfloat16 between tokens.
        with torch.autocast(x.device.type, enabled=False):
            if self._weight.dtype == state.dtype:
                states, last = self.cell(x.to(state.dtype), start)
            else:
                states, last = self._widened(x.to(state.dtype), start)
        return states, last.squeeze(0)

    def _widened(self, x: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
        """A half-precision model computed in the precision of its state."""
        weights = [weight.to(start.dtype) for weight in self.cell.all_weights[0]]
        return torch.gru(x, start, weights, True, 1, 0.0, False, False, True)
