"""Blocks whose entries are moved by choices: each goes to one place, or takes from one."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.differentiate import through_time
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu
from mingru.ops.selection_scan import reference

__all__ = ["selection_scan"]


def selection_scan(logits: Tensor, drive: Tensor, state: Tensor, decay: Tensor | None = None, by_source: bool = True) -> Tensor:
    """All states (B, T, N, M) of h[t] = P[t] (decay[t] h[t-1]) + drive[t], P[t] a matrix of zeros and ones.

    logits (B, T, N, M, M) choose by their largest entry along the last axis, the first of equals. by_source: entry m of the
    state goes to place argmax(logits[m]), where entries that meet are added (P has one 1 in each column). Otherwise place m
    takes entry argmax(logits[m]) (one 1 in each row). drive is (B, T, N, M), the initial state (B, N, M), decay (B, T, N) or
    None for 1. The final state is states[:, -1]. Half precision is computed and returned in float32.

    The gradient passes the choice straight through: it is that of softmax(logits) in P's place, taken at the states that
    the choices gave (Bengio et al. 2013, arXiv:1308.3432). Logits that are not finite make the states NaN.
    Raises ValueError for wrong shapes, dtypes or devices.
    """
    logits, drive, state, decay = checked(
        "selection_scan",
        {
            "logits": (logits, "B T N M M"),
            "drive": (drive, "B T N M"),
            "state": (state, "B N M"),
            "decay": (decay, "B T N"),
        },
    )
    return _scan(logits, drive, state, decay, by_source)


@torch.library.custom_op("mingru::selection_scan", mutates_args=())
def _scan(logits: Tensor, drive: Tensor, state: Tensor, decay: Tensor, by_source: bool) -> Tensor:
    return reference.selection_scan(logits, drive, state, decay, by_source)


@torch.library.custom_op("mingru::selection_scan_backward", mutates_args=())
def _scan_backward(
    grad: Tensor, logits: Tensor, state: Tensor, decay: Tensor, states: Tensor, by_source: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    def carry(logits: Tensor, decay: Tensor, state: Tensor) -> Tensor:
        return reference.carry(logits, decay, state, by_source)

    grad_logits, grad_decay, grad_drive, grad_state = through_time(carry, grad, (logits, decay), state, states)
    return grad_logits, grad_drive, grad_state, grad_decay


@_scan.register_kernel("cpu")
def _(logits, drive, state, decay, by_source):
    from mingru.ops.selection_scan import cpu

    return cpu.forward(logits, drive, state, decay, by_source)


@_scan_backward.register_kernel("cpu")
def _(grad, logits, state, decay, states, by_source):
    from mingru.ops.selection_scan import cpu

    return cpu.backward(grad, logits, state, decay, states, by_source)


@_scan.register_fake
def _(logits, drive, state, decay, by_source):
    return drive.new_empty(drive.shape)


@_scan_backward.register_fake
def _(grad, logits, state, decay, states, by_source):
    return tuple(x.new_empty(x.shape) for x in (logits, grad, state, decay))


def _save(ctx, inputs, output):
    logits, _, state, decay, ctx.by_source = inputs
    ctx.save_for_backward(logits, state, decay, output)


def _differentiate(ctx, grad):
    return *_scan_backward(grad, *ctx.saved_tensors, ctx.by_source), None


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
