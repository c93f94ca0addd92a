"""Planar blocks that turn and reflect: h[t] = R(angle[t]) diag(1, scale[t]) h[t-1] + drive[t]."""

from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.rotation_scan import reference

__all__ = ["rotation_scan"]


def rotation_scan(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor | None = None) -> Tensor:
    """All states (B, T, N, 2) of h[t] = decay[t] R(angle[t]) diag(1, scale[t]) h[t-1] + drive[t].

    angle (radians) and scale are (B, T, N), drive (B, T, N, 2), the initial state (B, N, 2), decay (B, T, N) or None
    for 1. R(a) = [[cos a, -sin a], [sin a, cos a]]. The final state is states[:, -1].
    Half precision is computed and returned in float32. Raises ValueError for wrong shapes, dtypes or devices.
    """
    angle, scale, drive, state, decay = checked(
        "rotation_scan",
        {
            "angle": (angle, "B T N"),
            "scale": (scale, "B T N"),
            "drive": (drive, "B T N K"),
            "state": (state, "B N K"),
            "decay": (decay, "B T N"),
        },
    )
    if drive.shape[-1] != 2:
        raise ValueError(f"rotation_scan: drive has shape {tuple(drive.shape)}, wanted a last axis of 2")
    return reference.rotation_scan(angle, scale, drive, state, decay)
