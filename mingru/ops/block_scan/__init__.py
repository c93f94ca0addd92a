"""Dense blocks: h[t] = transition[t] h[t-1] + drive[t]."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.block_scan import reference
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu

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
    return _scan(transition, drive, state, decay)


@torch.library.custom_op("mingru::block_scan", mutates_args=())
def _scan(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    return reference.block_scan(transition, drive, state, decay)


@torch.library.custom_op("mingru::block_scan_backward", mutates_args=())
def _scan_backward(grad: Tensor, transition: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    *coefficients, grad_decay, grad_drive, grad_state = through_time(reference.carry, grad, (transition, decay), state, states)
    return *coefficients, grad_drive, grad_state, grad_decay


@_scan.register_kernel("cpu")
def _(transition, drive, state, decay):
    from mingru.ops.block_scan import cpu

    return cpu.forward(transition, drive, state, decay)


@_scan_backward.register_kernel("cpu")
def _(grad, transition, state, decay, states):
    from mingru.ops.block_scan import cpu

    return cpu.backward(grad, transition, state, decay, states)


@_scan.register_fake
def _(transition, drive, state, decay):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, transition, state, decay, states):
    return (
        transition.new_empty(transition.shape),
        grad.new_empty(grad.shape),
        state.new_empty(state.shape),
        decay.new_empty(decay.shape),
    )


def _save(ctx, inputs, output):
    transition, _, state, decay = inputs
    ctx.save_for_backward(transition, state, decay, output)


def _differentiate(ctx, grad):
    return _scan_backward(grad, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
