"""Planar blocks that turn and reflect: h[t] = R(angle[t]) diag(1, scale[t]) h[t-1] + drive[t]."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu
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
    return _scan(angle, scale, drive, state, decay)


@torch.library.custom_op("mingru::rotation_scan", mutates_args=())
def _scan(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    return reference.rotation_scan(angle, scale, drive, state, decay)


@torch.library.custom_op("mingru::rotation_scan_backward", mutates_args=())
def _scan_backward(
    grad: Tensor, angle: Tensor, scale: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    *coefficients, grad_decay, grad_drive, grad_state = through_time(reference.carry, grad, (angle, scale, decay), state, states)
    return *coefficients, grad_drive, grad_state, grad_decay


@_scan.register_kernel("cpu")
def _(angle, scale, drive, state, decay):
    from mingru.ops.rotation_scan import cpu

    return cpu.forward(angle, scale, drive, state, decay)


@_scan_backward.register_kernel("cpu")
def _(grad, angle, scale, state, decay, states):
    from mingru.ops.rotation_scan import cpu

    return cpu.backward(grad, angle, scale, state, decay, states)


@_scan.register_fake
def _(angle, scale, drive, state, decay):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, angle, scale, state, decay, states):
    return (
        angle.new_empty(angle.shape),
        scale.new_empty(scale.shape),
        grad.new_empty(grad.shape),
        state.new_empty(state.shape),
        decay.new_empty(decay.shape),
    )


def _save(ctx, inputs, output):
    angle, scale, _, state, decay = inputs
    ctx.save_for_backward(angle, scale, state, decay, output)


def _differentiate(ctx, grad):
    return _scan_backward(grad, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
