"""One pass over t for every stretch of neighbouring blocks; README.md derives the backward pass."""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place, row, share
from mingru.ops.cpu.sine_cosine import sine_cosine
from mingru.ops.layout import packed


@jit
def _read_decay(place, b, t, start, size, decay, like):
    source = row(place, b, t, start * place[3], like)
    for n in range(size):
        decay[n] = source[n * place[3]]


@jit
def _turn(size, sine, cosine, kept, d, previous, x, h, p, q):
    # One result a loop: with more, the compiler gives up on proving that they do not overlap.
    for n in range(size):
        p[n] = kept[n] * previous[2 * n]
    for n in range(size):
        q[n] = d[n] * (kept[n] * previous[2 * n + 1])
    for n in range(size):
        h[2 * n] = cosine[n] * p[n] - sine[n] * q[n] + x[2 * n]
        h[2 * n + 1] = sine[n] * p[n] + cosine[n] * q[n] + x[2 * n + 1]


@jit
def _turn_back(size, sine, cosine, kept, d, previous, total, carried, grad_a, grad_d, grad_kept, grad_p, grad_q):
    for n in range(size):
        grad_p[n] = cosine[n] * total[2 * n] + sine[n] * total[2 * n + 1]
    for n in range(size):
        grad_q[n] = cosine[n] * total[2 * n + 1] - sine[n] * total[2 * n]
    for n in range(size):
        grad_a[n] = kept[n] * (grad_q[n] * previous[2 * n] - grad_p[n] * (d[n] * previous[2 * n + 1]))
    for n in range(size):
        grad_d[n] = kept[n] * (grad_q[n] * previous[2 * n + 1])
    for n in range(size):
        grad_kept[n] = grad_p[n] * previous[2 * n] + d[n] * (grad_q[n] * previous[2 * n + 1])
    for n in range(size):
        carried[2 * n] = kept[n] * grad_p[n]
        carried[2 * n + 1] = kept[n] * (d[n] * grad_q[n])


def scan(first, last, sizes, like, scratch, angle, scale, drive, state, decay, states):
    steps, blocks, stretch = sizes
    stretches = (blocks + stretch - 1) // stretch
    sine = element(scratch, 0, like)
    cosine, kept = after(sine, stretch), after(sine, 2 * stretch)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size = min(stretch, blocks - start)
        previous = row(state, b, 0, 2 * start, like)
        for t in range(steps):
            sine_cosine(row(angle, b, t, start, like), size, sine, cosine, like)
            _read_decay(decay, b, t, start, size, kept, like)
            d, x = row(scale, b, t, start, like), row(drive, b, t, 2 * start, like)
            h = row(states, b, t, 2 * start, like)
            _turn(size, sine, cosine, kept, d, previous, x, h, after(sine, 3 * stretch), after(sine, 4 * stretch))
            previous = h


def _backward(
    first, last, sizes, like, scratch, grad, angle, scale, state, decay, states,
    grad_angle, grad_scale, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, stretch = sizes
    stretches = (blocks + stretch - 1) // stretch
    sine = element(scratch, 0, like)
    cosine, kept = after(sine, stretch), after(sine, 2 * stretch)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size = min(stretch, blocks - start)
        carried = row(grad_state, b, 0, 2 * start, like)
        for i in range(2 * size):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            sine_cosine(row(angle, b, t, start, like), size, sine, cosine, like)
            _read_decay(decay, b, t, start, size, kept, like)
            total = row(grad_drive, b, t, 2 * start, like)
            g = row(grad, b, t, 2 * start, like)
            for i in range(2 * size):
                total[i] = g[i] + carried[i]
            previous = row(states, b, t - 1, 2 * start, like) if t > 0 else row(state, b, 0, 2 * start, like)
            d, grad_d = row(scale, b, t, start, like), row(grad_scale, b, t, start, like)
            grad_a, grad_kept = row(grad_angle, b, t, start, like), row(grad_decay, b, t, start, like)
            _turn_back(
                size, sine, cosine, kept, d, previous, total, carried, grad_a, grad_d, grad_kept,
                after(sine, 3 * stretch), after(sine, 4 * stretch),
            )  # fmt: skip


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(angle: Tensor) -> tuple[tuple[int, int], tuple[int, int, int], int]:
    """Units and numbers touched, sizes, and scratch memory."""
    batch, steps, blocks = angle.shape
    stretch, units = share(batch, blocks)
    return (units, 6 * angle.numel()), (steps, blocks, stretch), 5 * stretch


def forward(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    angle, scale, drive, state = packed(angle, 2), packed(scale, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    inputs = place(angle, 2), place(scale, 2), place(drive, 2), place(state, 1), place(decay, 3)
    work, sizes, scratch = _shares(angle)
    _forward_kernel(work, angle.dtype, sizes, scratch, *inputs, place(states, 2))
    return states


def backward(grad: Tensor, angle: Tensor, scale: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, ...]:
    grad, angle, scale, states = (packed(x, 2) for x in (grad, angle, scale, states))
    state = packed(state, 1)
    results = [torch.empty(x.shape, dtype=x.dtype) for x in (angle, scale, grad, state, decay)]
    inputs = place(grad, 2), place(angle, 2), place(scale, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 2, 1, 3), strict=True)]
    work, sizes, scratch = _shares(angle)
    _backward_kernel(work, angle.dtype, sizes, scratch, *inputs, *outputs)
    return tuple(results)
