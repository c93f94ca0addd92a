"""Blocks multiplied by a product of generalised reflections: h <- (I - s k k^T) h for each factor."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu
from mingru.ops.reflection_scan import reference

__all__ = ["reflection_scan"]


def reflection_scan(key: Tensor, strength: Tensor, drive: Tensor, state: Tensor, decay: Tensor | None = None) -> Tensor:
    """All states (B, T, N, K) of h[t] = F[J-1] ... F[1] F[0] (decay[t] h[t-1]) + drive[t] with F[j] = I - s[t, j] k[t, j] k[t, j]^T.

    key is (B, T, J, N, K), strength s (B, T, J, N), drive (B, T, N, K), the initial state (B, N, K), decay (B, T, N) or
    None for 1. With |k| = 1 and s = 2 a factor reflects, for s in [0, 2] it never lengthens a state; the norm of a key is
    the caller's to keep. The final state is states[:, -1]. Half precision is computed and returned in float32.
    Raises ValueError for wrong shapes, dtypes or devices.
    """
    key, strength, drive, state, decay = checked(
        "reflection_scan",
        {
            "key": (key, "B T J N K"),
            "strength": (strength, "B T J N"),
            "drive": (drive, "B T N K"),
            "state": (state, "B N K"),
            "decay": (decay, "B T N"),
        },
    )
    return _scan(key, strength, drive, state, decay)


@torch.library.custom_op("mingru::reflection_scan", mutates_args=())
def _scan(key: Tensor, strength: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    return reference.reflection_scan(key, strength, drive, state, decay)


@torch.library.custom_op("mingru::reflection_scan_backward", mutates_args=())
def _scan_backward(
    grad: Tensor, key: Tensor, strength: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    *coefficients, grad_decay, grad_drive, grad_state = through_time(reference.carry, grad, (key, strength, decay), state, states)
    return *coefficients, grad_drive, grad_state, grad_decay


@_scan.register_kernel("cpu")
def _(key, strength, drive, state, decay):
    from mingru.ops.reflection_scan import cpu

    return cpu.forward(key, strength, drive, state, decay)


@_scan_backward.register_kernel("cpu")
def _(grad, key, strength, state, decay, states):
    from mingru.ops.reflection_scan import cpu

    return cpu.backward(grad, key, strength, state, decay, states)


@_scan.register_fake
def _(key, strength, drive, state, decay):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, key, strength, state, decay, states):
    return tuple(x.new_empty(x.shape) for x in (key, strength, grad, state, decay))


def _save(ctx, inputs, output):
    key, strength, _, state, decay = inputs
    ctx.save_for_backward(key, strength, state, decay, output)


def _differentiate(ctx, grad):
    return _scan_backward(grad, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
