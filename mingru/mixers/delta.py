"""Fast weights that are corrected, not only added to."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mingru.mixers.base import Mixer, require_positive
from mingru.mixers.projection import Projection
from mingru.ops.delta_scan import delta_scan
from mingru.ops.unit_vectors import unit_vectors
from mingru.types import Inputs, Outputs, State


class Delta(Mixer):
    """DeltaProduct: per head a matrix state, multiplied by n_householder generalised reflections per token.

    S <- (I - beta k k^T) S + beta k v^T for each of the micro-steps in order, then y = W concat_heads(S^T q)

    k is normalised to length 1 and beta = 2 sigmoid(.) lies in (0, 2), so that an eigenvalue along k lies in (-1, 1).
    q is neither normalised nor scaled. The state starts at zero. d_k defaults to d_model / n_heads, d_v to d_k.

    Source: DeltaNet, Yang et al. 2024, arXiv:2406.06484; negative eigenvalues, Grazzi et al. 2024, arXiv:2411.12537;
    products of reflections, Siems et al. 2025, arXiv:2502.10297. Departure: no short convolution, output norm or gate.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int = 4,
        n_householder: int = 1,
        d_k: int | None = None,
        d_v: int | None = None,
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
        name: str = "delta",
    ) -> None:
        require_positive(name, "n_heads", n_heads)
        require_positive(name, "n_householder", n_householder)
        d_k = default_key_width(name, d_model, n_heads) if d_k is None else d_k
        d_v = d_k if d_v is None else d_v
        require_positive(name, "d_k", d_k)
        require_positive(name, "d_v", d_v)
        super().__init__(name, d_model, (n_heads, d_k, d_v), decay, decay_rate, log1p_delta)
        self.n_householder = n_householder
        heads = {
            "query": n_heads * d_k,
            "key": [n_heads * d_k] * n_householder,
            "value": [n_heads * d_v] * n_householder,
            "strength": [n_heads] * n_householder,
        }
        self.projection = Projection(d_model, heads)
        self.output = nn.Linear(n_heads * d_v, d_model)

    def _mix(self, x: Inputs, state: State, kept: Tensor | None = None) -> tuple[Outputs, State]:
        query, key, value, strength = self.projection(x)
        n_heads, d_k, d_v = self.state_shape
        outputs, state = delta_scan(
            query.unflatten(-1, (n_heads, d_k)),
            unit_vectors(key.unflatten(-1, (-1, d_k))).unflatten(2, (self.n_householder, n_heads)),
            value.unflatten(-1, (self.n_householder, n_heads, d_v)),
            2 * torch.sigmoid(strength.unflatten(-1, (self.n_householder, n_heads))),
            state,
            kept,
        )
        return self.output(outputs.flatten(2).to(x.dtype)), state

    def _token(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        from mingru.ops import one_token

        return one_token.delta(self.projection, self.output, x_t, state, self.n_householder)


def default_key_width(mixer: str, d_model: int, n_heads: int) -> int:
    if d_model % n_heads:
        nearest = min((n for n in range(1, d_model + 1) if d_model % n == 0), key=lambda n: abs(n - n_heads))
        raise ValueError(
            f"{mixer}: without d_k, n_heads must divide d_model {d_model}, got {n_heads}; the nearest valid choice is {nearest}"
        )
    return d_model // n_heads
