"""Blocks turned by a brick wall of Givens rotations: h[t] = G[R-1] ... G[0] h[t-1] + drive[t]."""

from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.givens_scan import reference

__all__ = ["givens_scan"]


def givens_scan(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor | None = None) -> Tensor:
    """All states (B, T, N, K) of h[t] = G[R-1] ... G[1] G[0] (decay[t] h[t-1]) + drive[t].

    angle (radians) is (B, T, N, R, K/2), drive (B, T, N, K), the initial state (B, N, K), decay (B, T, N) or None
    for 1. Round r turns the planes (0, 1), (2, 3), ... when it is even, (1, 2), (3, 4), ..., (K-1, 0) when it is odd.
    The final state is states[:, -1]. Half precision is computed and returned in float32.
    Raises ValueError for wrong shapes, dtypes or devices, and for an odd K.
    """
    angle, drive, state, decay = checked(
        "givens_scan",
        {
            "angle": (angle, "B T N R P"),
            "drive": (drive, "B T N K"),
            "state": (state, "B N K"),
            "decay": (decay, "B T N"),
        },
    )
    planes, size = angle.shape[-1], drive.shape[-1]
    if 2 * planes != size:
        raise ValueError(f"givens_scan: angle has {planes} planes a round for K = {size}, wanted an even K and K/2")
    return reference.givens_scan(angle, drive, state, decay)
