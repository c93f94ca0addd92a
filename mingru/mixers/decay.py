"""The decay channel: memory that fades with time, whatever the tokens say."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

DEFAULT_RATE = 1.0


class TimeDecay(nn.Module):
    """What a time gap leaves of a state: exp(-rate * f(gap)) for each channel, block or head; 1 where there is no gap.

    f is the identity, or with `log1p` log(1 + gap), so that memory fades as a power of the gap. The rate is per unit of
    time. "fixed": it is `rate` throughout; "learnable": softplus(rho), one for each channel, and `rate` at first.

    forward takes gaps (B, T) or (B,) that are not negative to (B, T, channels) or (B, channels) in the same dtype.
    ValueError for another kind, or a rate that is not above 0.

    Source: the published ladder (mingru-scans 0.2.0).
    """

    def __init__(self, mixer: str, channels: int, kind: str, rate: float, log1p: bool) -> None:
        super().__init__()
        if kind not in ("fixed", "learnable"):
            raise ValueError(f"{mixer}: decay must be fixed, learnable or null, got {kind!r}")
        if not 0 < rate < math.inf:
            raise ValueError(f"{mixer}: decay_rate must be above 0 and finite, got {rate}")
        self.channels, self.rate, self.log1p = channels, rate, log1p
        # The inverse of softplus, in a form that no rate overflows.
        start = rate + math.log(-math.expm1(-rate))
        self.rho = nn.Parameter(torch.full((channels,), start)) if kind == "learnable" else None

    def forward(self, gaps: Tensor) -> Tensor:
        gaps = (gaps.log1p() if self.log1p else gaps).unsqueeze(-1)
        if self.rho is None:
            return torch.exp(-self.rate * gaps).expand(*gaps.shape[:-1], self.channels)
        return torch.exp(-F.softplus(self.rho.to(gaps.dtype)) * gaps)

    def extra_repr(self) -> str:
        return f"{self.channels}, {'fixed' if self.rho is None else 'learnable'}, rate={self.rate}, log1p={self.log1p}"


def time_decay(mixer: str, channels: int, kind: str | None, rate: float | None, log1p: bool) -> TimeDecay | None:
    """The decay channel that a mixer's settings ask for; ValueError for settings of one that is off."""
    if kind is not None:
        return TimeDecay(mixer, channels, kind, DEFAULT_RATE if rate is None else rate, log1p)
    if rate is not None or log1p:
        setting = f"decay_rate={rate}" if rate is not None else "log1p_delta=true"
        raise ValueError(f"{mixer}: {setting} does nothing without decay; decay is fixed or learnable")
    return None
