"""One pass over t for every stretch of neighbouring blocks, a row of a block's matrix at a time; README.md derives it."""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, jit, place, row, share
from mingru.ops.cpu.lanes import load, plus, spread, store, total, zeros
from mingru.ops.layout import packed


def scan(first, last, sizes, like, scratch, pattern, transition, drive, state, decay, states):
    steps, blocks, stretch = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        previous = row(state, b, 0, start * width, like)
        for t in range(steps):
            matrix, kept = (
                row(transition, b, t, start * width * width, like),
                row(decay, b, t, start * decay[3], like),
            )
            x, h = row(drive, b, t, start * width, like), row(states, b, t, start * width, like)
            for n in range(min(stretch, blocks - start)):
                vector = spread(kept[n * decay[3]], zero) * load(previous, n * width, zero)
                for i in range(n * width, (n + 1) * width):
                    h[i] = total(load(matrix, i * width, zero) * vector) + x[i]
            previous = h


@jit
def _block_back(width, zero, scale, matrix, previous, total_grad, carried, grad_matrix):
    """One block of one token: what the state before it receives, into `carried`; return the gradient of its decay."""
    state, received = load(previous, 0, zero), zero
    vector = scale * state
    for i in range(width):
        grad = spread(total_grad[i], zero)
        received = plus(received, grad, load(matrix, i * width, zero))
        store(grad_matrix, i * width, grad * vector)
    store(carried, 0, scale * received)
    return total(received * state)


def _backward(
    first, last, sizes, like, scratch, pattern, grad, transition, state, decay, states,
    grad_transition, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, stretch = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size, at = min(stretch, blocks - start), start * width
        carried = row(grad_state, b, 0, at, like)
        for i in range(size * width):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            g, x = row(grad, b, t, at, like), row(grad_drive, b, t, at, like)
            for i in range(size * width):
                x[i] = g[i] + carried[i]
            previous = row(states, b, t - 1, at, like) if t > 0 else row(state, b, 0, at, like)
            matrix, grad_matrix = (
                row(transition, b, t, at * width, like),
                row(grad_transition, b, t, at * width, like),
            )
            kept, grad_kept = row(decay, b, t, start * decay[3], like), row(grad_decay, b, t, start, like)
            for n in range(size):
                here, there = n * width, n * width * width
                grad_kept[n] = _block_back(
                    width, zero, spread(kept[n * decay[3]], zero), after(matrix, there), after(previous, here),
                    after(x, here), after(carried, here), after(grad_matrix, there),
                )  # fmt: skip


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(transition: Tensor) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Units and numbers touched, sizes, and a pattern of as many numbers as a row of a matrix has."""
    batch, steps, blocks, width, _ = transition.shape
    stretch, units = share(batch, blocks)
    return (units, transition.numel()), (steps, blocks, stretch), (0,) * width


def forward(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    transition, drive, state = packed(transition, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    work, sizes, pattern = _shares(transition)
    places = place(transition, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(work, drive.dtype, sizes, 0, pattern, *places)
    return states


def backward(grad: Tensor, transition: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, transition, state, states = packed(grad, 2), packed(transition, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(x.shape, dtype=grad.dtype) for x in (transition, grad, state, decay)]
    work, sizes, pattern = _shares(transition)
    inputs = place(grad, 2), place(transition, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(work, grad.dtype, sizes, 0, pattern, *inputs, *outputs)
    return tuple(results)
