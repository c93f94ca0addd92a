"""One pass over t for every stretch of neighbouring blocks; README.md derives the backward pass."""

import torch
from torch import Tensor

from mingru.ops.cpu_kernel import Kernel, after, element, jit, packed, place

# Blocks handled together: their rows lie next to each other, yet one sequence can occupy several threads.
STRETCH = 16


@jit
def _row(place, b, t, offset, like):
    return element(place[0], b * place[1] + t * place[2] + offset, like)


@jit
def _decayed(size, width, decay, stride, previous, result):
    for n in range(size):
        for j in range(width):
            result[n * width + j] = decay[n * stride] * previous[n * width + j]


@jit
def _product(width, matrix, vector, added, result):
    for i in range(width):
        entry = added[i]
        for j in range(width):
            entry += matrix[i * width + j] * vector[j]
        result[i] = entry


@jit
def _product_back(width, matrix, vector, grad, grad_matrix, grad_vector):
    for j in range(width):
        grad_vector[j] = 0
    for i in range(width):
        g = grad[i]
        row, grad_row = after(matrix, i * width), after(grad_matrix, i * width)
        for j in range(width):
            grad_row[j] = g * vector[j]
        for j in range(width):
            grad_vector[j] += g * row[j]


def _forward(first, last, sizes, like, scratch, transition, drive, state, decay, states):
    steps, blocks, width = sizes
    stretches = (blocks + STRETCH - 1) // STRETCH
    kept = element(scratch, 0, like)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * STRETCH
        size = min(STRETCH, blocks - start)
        previous = _row(state, b, 0, start * width, like)
        for t in range(steps):
            _decayed(size, width, _row(decay, b, t, start * decay[3], like), decay[3], previous, kept)
            a = _row(transition, b, t, start * width * width, like)
            x, h = _row(drive, b, t, start * width, like), _row(states, b, t, start * width, like)
            for n in range(size):
                at = n * width
                _product(width, after(a, at * width), after(kept, at), after(x, at), after(h, at))
            previous = h


def _backward(
    first, last, sizes, like, scratch, grad, transition, state, decay, states,
    grad_transition, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, width = sizes
    stretches = (blocks + STRETCH - 1) // STRETCH
    kept = element(scratch, 0, like)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * STRETCH
        size = min(STRETCH, blocks - start)
        carried = _row(grad_state, b, 0, start * width, like)
        for i in range(size * width):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            total, g = _row(grad_drive, b, t, start * width, like), _row(grad, b, t, start * width, like)
            for i in range(size * width):
                total[i] = g[i] + carried[i]
            previous = _row(states, b, t - 1, start * width, like) if t > 0 else _row(state, b, 0, start * width, like)
            d, grad_d = _row(decay, b, t, start * decay[3], like), _row(grad_decay, b, t, start, like)
            _decayed(size, width, d, decay[3], previous, kept)
            a, grad_a = (
                _row(transition, b, t, start * width * width, like),
                _row(grad_transition, b, t, start * width * width, like),
            )
            for n in range(size):
                at = n * width
                _product_back(
                    width,
                    after(a, at * width),
                    after(kept, at),
                    after(total, at),
                    after(grad_a, at * width),
                    after(carried, at),
                )
            _decay_back(size, width, d, decay[3], previous, carried, grad_d)


@jit
def _decay_back(size, width, decay, stride, previous, grad, grad_decay):
    """Turn the gradient of the decayed state into those of the decay and of the state before it."""
    for n in range(size):
        entry = grad[n * width] * previous[n * width]
        for j in range(1, width):
            entry += grad[n * width + j] * previous[n * width + j]
        grad_decay[n] = entry
        for j in range(width):
            grad[n * width + j] *= decay[n * stride]


_forward_kernel = Kernel(_forward)
_backward_kernel = Kernel(_backward)


def _work(transition: Tensor) -> tuple[int, int]:
    return transition.shape[0] * -(-transition.shape[2] // STRETCH), transition.numel()


def forward(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    transition, drive, state = packed(transition, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    places = place(transition, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    scratch = STRETCH * drive.shape[-1]
    _forward_kernel(_work(transition), drive.dtype, tuple(drive.shape[1:]), scratch, *places)
    return states


def backward(
    grad: Tensor, transition: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, transition, state, states = packed(grad, 2), packed(transition, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(x.shape, dtype=grad.dtype) for x in (transition, grad, state, decay)]
    inputs = place(grad, 2), place(transition, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(_work(transition), grad.dtype, tuple(grad.shape[1:]), STRETCH * grad.shape[-1], *inputs, *outputs)
    return tuple(results)
