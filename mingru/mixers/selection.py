"""Blocks of channels moved about by discrete choices."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer, require_positive
from mingru.mixers.blocks import injected, require_blocks
from mingru.mixers.projection import Projection
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.selection_scan import selection_scan
from mingru.ops.selection_scan.reference import straight_through
from mingru.types import Inputs, Outputs, State

FORMS = ("column", "row", "bijective")


class Selection(Mixer):
    """Each block of channels is multiplied by a matrix of zeros and ones that the token chooses.

    h[t] = P[t] h[t-1];  + sigmoid(z(x[t])) * v(x[t]) with injection

    "column": each entry chooses where it goes, so that P has one 1 in each column; entries that meet are added, and without
    injection never part again. "row": each place chooses which entry it takes; an entry that none takes is lost.
    "bijective": P is a product of `factors` swaps of two entries (4 by default), each a reflection I - k k^T whose direction k is
    chosen among the e_i - e_j; exactly orthogonal, so nothing meets and nothing is lost.
    A choice is the argmax of logits W x + b; its gradient is the softmax's (straight-through). The initial state is
    learned, and begins as N(0, 1).

    Source: PD-SSM, arXiv:2509.22284, column one-hot; straight-through, Bengio et al. 2013, arXiv:1308.3432. Departures: no
    diagonal factor, the logits of a block come from the token directly instead of from a softmax over a dictionary of
    matrices, and a token need not be injected. Row form and bijective form are ours.
    """

    def __init__(
        self,
        d_model: int,
        block_size: int = 8,
        form: str = "column",
        factors: int | None = None,
        injection: bool = False,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "selection",
    ) -> None:
        require_blocks(name, d_model, block_size)
        if form not in FORMS:
            raise ValueError(f"{name}: form must be column, row or bijective, got {form!r}")
        n_blocks = d_model // block_size
        super().__init__(name, d_model, (n_blocks, block_size), decay, decay_rate, log1p_delta)
        self.form, self.factors = form, n_factors(name, form, factors, block_size)
        pairs = torch.triu_indices(block_size, block_size, offset=1).mT
        choice = [n_blocks * len(pairs)] * self.factors if form == "bijective" else n_blocks * block_size**2
        self.projection = Projection(d_model, {"choice": choice} | ({"gate": d_model, "candidate": d_model} if injection else {}))
        self.h0 = nn.Parameter(torch.randn(n_blocks, block_size))
        if form == "bijective":
            self.register_buffer("directions", swaps(pairs, block_size), persistent=False)

    def margin(self, x: Inputs) -> Tensor:
        """The smallest gap between a choice's largest logit and the next; in the column form, of the entries that are not 0."""
        logits, drive = self._coefficients(x)
        if logits.shape[-1] < 2:
            return logits.new_tensor(math.inf)
        first, second = logits.topk(2, dim=-1).values.unbind(-1)
        gap = first - second
        if self.form == "column":
            start = self.init_state(len(x))
            states = selection_scan(logits, drive, start, by_source=True)
            before = torch.cat([start[:, None], states[:, :-1]], dim=1)
            gap = gap.masked_fill(before == 0, math.inf)
        return gap.amin()

    def _start(self) -> Tensor:
        return self.h0

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        logits, drive = self._coefficients(x)
        if self.form == "bijective":
            key = straight_through(logits) @ self.directions.to(logits.dtype)
            # (e_i - e_j)'s squared length is 2: a strength of 1 reflects, and neither has digits to round.
            states = reflection_scan(key, key.new_ones(key.shape[:-1]), drive, state, kept)
        else:
            states = selection_scan(logits, drive, state, kept, by_source=self.form == "column")
        return states.flatten(2), states[:, -1]

    def _coefficients(self, x: Inputs) -> tuple[Tensor, Tensor]:
        """Logits of the choices (B, T, N, K, K), or of the bijective form (B, T, J, N, K (K - 1) / 2), and the drive (B, T, N, K)."""
        parts = dict(zip(self.projection.widths, self.projection(x), strict=True))
        n_blocks, block_size = self.state_shape
        shape = (self.factors, n_blocks, -1) if self.form == "bijective" else (n_blocks, block_size, block_size)
        logits = parts["choice"].unflatten(-1, shape)
        return logits, injected(parts, self.state_shape, logits)


def n_factors(mixer: str, form: str, factors: int | None, block_size: int) -> int:
    """How many swaps a token makes: 4 unless told otherwise, and none but in the bijective form."""
    if form != "bijective":
        if factors is not None:
            raise ValueError(f"{mixer}: factors={factors} does nothing with form={form}; it counts the swaps of form=bijective")
        return 0
    if block_size < 2:
        raise ValueError(f"{mixer}: form=bijective swaps two entries, got block_size={block_size}; the nearest valid choice is 2")
    factors = 4 if factors is None else factors
    require_positive(mixer, "factors", factors)
    return factors


def swaps(pairs: Tensor, size: int) -> Tensor:
    """For each pair (i, j) the direction e_i - e_j, whose reflection swaps entries i and j."""
    directions = torch.zeros(len(pairs), size)
    directions.scatter_(1, pairs[:, :1], 1.0)
    return directions.scatter_(1, pairs[:, 1:], -1.0)
