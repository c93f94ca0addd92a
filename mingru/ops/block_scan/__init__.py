"""Dense blocks: h[t] = transition[t] h[t-1] + drive[t]."""

from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.block_scan import reference

__all__ = ["block_scan"]


def block_scan(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor | None = None) -> Tensor:
    """All states (B, T, N, M) of h[t] = transition[t] (decay[t] h[t-1]) + drive[t].

    transition is (B, T, N, M, M), drive (B, T, N, M), the initial state (B, N, M), decay (B, T, N) or None for 1.
    The final state is states[:, -1]. Half precision is computed and returned in float32.
    Raises ValueError for wrong shapes, dtypes or devices.
    """
    transition, drive, state, decay = checked(
        "block_scan",
        {
            "transition": (transition, "B T N M M"),
            "drive": (drive, "B T N M"),
            "state": (state, "B N M"),
            "decay": (decay, "B T N"),
        },
    )
    return reference.block_scan(transition, drive, state, decay)
