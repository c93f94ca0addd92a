"""Independent channels: h[t] = decay[t] * h[t-1] + drive[t]."""

from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.diagonal_scan import reference

__all__ = ["diagonal_scan"]


def diagonal_scan(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    """All states (B, T, D) of h[t] = decay[t] * h[t-1] + drive[t]; decay may have any sign.

    decay and drive are (B, T, D), the initial state (B, D). The final state is states[:, -1].
    Half precision is computed and returned in float32. Raises ValueError for wrong shapes, dtypes or devices.
    """
    decay, drive, state = checked(
        "diagonal_scan", {"decay": (decay, "B T D"), "drive": (drive, "B T D"), "state": (state, "B D")}
    )
    return reference.diagonal_scan(decay, drive, state)
