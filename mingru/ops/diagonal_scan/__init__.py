"""Independent channels: h[t] = decay[t] * h[t-1] + drive[t]."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.diagonal_scan import reference
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu

__all__ = ["diagonal_scan"]


def diagonal_scan(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    """All states (B, T, D) of h[t] = decay[t] * h[t-1] + drive[t]; decay may have any sign.

    decay and drive are (B, T, D), the initial state (B, D). The final state is states[:, -1].
    Half precision is computed and returned in float32. Raises ValueError for wrong shapes, dtypes or devices.
    """
    return _scan(*checked("diagonal_scan", {"decay": (decay, "B T D"), "drive": (drive, "B T D"), "state": (state, "B D")}))


@torch.library.custom_op("mingru::diagonal_scan", mutates_args=())
def _scan(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    return reference.diagonal_scan(decay, drive, state)


@torch.library.custom_op("mingru::diagonal_scan_backward", mutates_args=())
def _scan_backward(grad: Tensor, decay: Tensor, state: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return through_time(reference.carry, grad, (decay,), state, states)


@_scan.register_kernel("cpu")
def _(decay, drive, state):
    from mingru.ops.diagonal_scan import cpu

    return cpu.forward(decay, drive, state)


@_scan_backward.register_kernel("cpu")
def _(grad, decay, state, states):
    from mingru.ops.diagonal_scan import cpu

    return cpu.backward(grad, decay, state, states)


@_scan.register_fake
def _(decay, drive, state):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, decay, state, states):
    return (
        decay.new_empty(decay.shape),
        grad.new_empty(grad.shape),
        state.new_empty(state.shape),
    )


def _save(ctx, inputs, output):
    decay, _, state = inputs
    ctx.save_for_backward(decay, state, output)


def _differentiate(ctx, grad):
    return _scan_backward(grad, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
