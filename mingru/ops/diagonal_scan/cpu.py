"""One pass over t for every stretch of neighbouring channels; README.md derives the backward pass."""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, place, row, share
from mingru.ops.layout import packed


def scan(first, last, sizes, like, scratch, decay, drive, state, states):
    steps, channels, stretch = sizes
    stretches = (channels + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        previous = row(state, b, 0, start, like)
        for t in range(steps):
            a, x = row(decay, b, t, start, like), row(drive, b, t, start, like)
            h = row(states, b, t, start, like)
            for d in range(min(stretch, channels - start)):
                h[d] = a[d] * previous[d] + x[d]
            previous = h


def _backward(first, last, sizes, like, scratch, grad, decay, state, states, grad_decay, grad_drive, grad_state):
    steps, channels, stretch = sizes
    stretches = (channels + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size = min(stretch, channels - start)
        carried = row(grad_state, b, 0, start, like)
        for d in range(size):
            carried[d] = 0
        for t in range(steps - 1, -1, -1):
            previous = row(states, b, t - 1, start, like) if t > 0 else row(state, b, 0, start, like)
            g, a = row(grad, b, t, start, like), row(decay, b, t, start, like)
            grad_a, grad_x = row(grad_decay, b, t, start, like), row(grad_drive, b, t, start, like)
            # One result a loop: with more, the compiler gives up on proving that they do not overlap.
            for d in range(size):
                grad_x[d] = g[d] + carried[d]
            for d in range(size):
                grad_a[d] = grad_x[d] * previous[d]
            for d in range(size):
                carried[d] = grad_x[d] * a[d]


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(drive: Tensor) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Units and numbers touched, and sizes."""
    batch, steps, channels = drive.shape
    stretch, units = share(batch, channels)
    return (units, 2 * drive.numel()), (steps, channels, stretch)


def forward(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    decay, drive, state = packed(decay, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    places = place(decay, 2), place(drive, 2), place(state, 1), place(states, 2)
    work, sizes = _shares(drive)
    _forward_kernel(work, drive.dtype, sizes, 0, *places)
    return states


def backward(grad: Tensor, decay: Tensor, state: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    grad, decay, state, states = packed(grad, 2), packed(decay, 2), packed(state, 1), packed(states, 2)
    grad_decay, grad_drive, grad_state = (torch.empty(like.shape, dtype=grad.dtype) for like in (grad, grad, state))
    inputs = place(grad, 2), place(decay, 2), place(state, 1), place(states, 2)
    outputs = place(grad_decay, 2), place(grad_drive, 2), place(grad_state, 1)
    work, sizes = _shares(grad)
    _backward_kernel(work, grad.dtype, sizes, 0, *inputs, *outputs)
    return grad_decay, grad_drive, grad_state
