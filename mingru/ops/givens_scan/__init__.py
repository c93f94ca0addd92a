"""Blocks turned by a brick wall of Givens rotations: h[t] = G[R-1] ... G[0] h[t-1] + drive[t]."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.givens_scan import reference
from mingru.ops.gpu.registration import register_on_gpu

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
    return _scan(angle, drive, state, decay)


@torch.library.custom_op("mingru::givens_scan", mutates_args=())
def _scan(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    return reference.givens_scan(angle, drive, state, decay)


@torch.library.custom_op("mingru::givens_scan_backward", mutates_args=())
def _scan_backward(grad: Tensor, angle: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    *coefficients, grad_decay, grad_drive, grad_state = through_time(reference.carry, grad, (angle, decay), state, states)
    return *coefficients, grad_drive, grad_state, grad_decay


@_scan.register_kernel("cpu")
def _(angle, drive, state, decay):
    from mingru.ops.givens_scan import cpu

    return cpu.forward(angle, drive, state, decay)


@_scan_backward.register_kernel("cpu")
def _(grad, angle, state, decay, states):
    from mingru.ops.givens_scan import cpu

    return cpu.backward(grad, angle, state, decay, states)


@_scan.register_fake
def _(angle, drive, state, decay):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, angle, state, decay, states):
    return (
        angle.new_empty(angle.shape),
        grad.new_empty(grad.shape),
        state.new_empty(state.shape),
        decay.new_empty(decay.shape),
    )


def _save(ctx, inputs, output):
    angle, _, state, decay = inputs
    ctx.save_for_backward(angle, state, decay, output)


def _differentiate(ctx, grad):
    return _scan_backward(grad, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
