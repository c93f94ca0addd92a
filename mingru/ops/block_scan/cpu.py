"""One pass over t for LANES sequences (a sequence is one block of one batch entry) side by side.

A product of matrix and vector is then a sum of rows. README.md derives the backward pass.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place
from mingru.ops.cpu.lanes import LANES, load, spread, store
from mingru.ops.cpu.tiles import add, decayed, decayed_back, read, spot, write, zero
from mingru.ops.layout import packed


@jit
def _product(width, matrix, vector, result):
    """result += matrix vector."""
    for i in range(width):
        entry = load(result, i * LANES)
        for j in range(width):
            entry = entry + load(matrix, (i * width + j) * LANES) * load(vector, j * LANES)
        store(result, i * LANES, entry)


@jit
def _product_back(width, matrix, vector, grad, grad_vector, like):
    """grad_vector = matrix^T grad; then the matrix becomes its gradient, grad vector^T."""
    for j in range(width):
        entry = spread(like)
        for i in range(width):
            at = (i * width + j) * LANES
            g = load(grad, i * LANES)
            entry = entry + load(matrix, at) * g
            store(matrix, at, g * load(vector, j * LANES))
        store(grad_vector, j * LANES, entry)


@jit
def _numbers(width):
    return LANES * (width * width + 2 + 4 * width)


@jit
def _tiles(scratch, width, like):
    """The transition, the decay and its gradient, and four tiles of the shape of a state."""
    matrix, vector = element(scratch, 0, like), width * LANES
    decay = after(matrix, width * vector)
    state = after(decay, 2 * LANES)
    return (
        matrix,
        decay,
        after(decay, LANES),
        state,
        after(state, vector),
        after(state, 2 * vector),
        after(state, 3 * vector),
    )


def _forward(first, last, sizes, like, scratch, transition, drive, state, decay, states):
    batch, steps, blocks, width = sizes
    matrix, decays, _, h, kept, _, _ = _tiles(scratch, width, like)
    for unit in range(first, last):
        at = spot(unit, LANES, batch, blocks, 1)
        zero(_numbers(width), matrix)
        read(state, at, 0, width, width, h, like)
        for t in range(steps):
            read(transition, at, t, width * width, width * width, matrix, like)
            if t == 0 or decay[2] != 0:
                read(decay, at, t, 1, decay[3], decays, like)
            decayed(width, LANES, decays, h, kept)
            read(drive, at, t, width, width, h, like)
            _product(width, matrix, kept, h)
            write(states, at, t, width, width, h, like)


def _backward(
    first, last, sizes, like, scratch, grad, transition, state, decay, states,
    grad_transition, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    batch, steps, blocks, width = sizes
    matrix, decays, grad_decays, h, kept, carried, total = _tiles(scratch, width, like)
    for unit in range(first, last):
        at = spot(unit, LANES, batch, blocks, -1)
        zero(_numbers(width), matrix)
        for t in range(steps - 1, -1, -1):
            read(grad, at, t, width, width, total, like)
            add(width * LANES, total, carried)
            write(grad_drive, at, t, width, width, total, like)
            read(transition, at, t, width * width, width * width, matrix, like)
            if t == steps - 1 or decay[2] != 0:
                read(decay, at, t, 1, decay[3], decays, like)
            if t > 0:
                read(states, at, t - 1, width, width, h, like)
            else:
                read(state, at, 0, width, width, h, like)
            decayed(width, LANES, decays, h, kept)
            _product_back(width, matrix, kept, total, carried, like)
            write(grad_transition, at, t, width * width, width * width, matrix, like)
            decayed_back(width, LANES, decays, h, carried, grad_decays, like)
            write(grad_decay, at, t, 1, 1, grad_decays, like)
        write(grad_state, at, 0, width, width, carried, like)


_forward_kernel = Kernel(_forward)
_backward_kernel = Kernel(_backward)


def _work(transition: Tensor) -> tuple[int, int]:
    return -(-transition.shape[0] * transition.shape[2] // LANES), transition.numel()


def forward(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    transition, drive, state = packed(transition, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    places = place(transition, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(_work(transition), drive.dtype, tuple(drive.shape), _numbers.py_func(drive.shape[-1]), *places)
    return states


def backward(
    grad: Tensor, transition: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, transition, state, states = packed(grad, 2), packed(transition, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(x.shape, dtype=grad.dtype) for x in (transition, grad, state, decay)]
    inputs = place(grad, 2), place(transition, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(
        _work(transition), grad.dtype, tuple(grad.shape), _numbers.py_func(grad.shape[-1]), *inputs, *outputs
    )
    return tuple(results)
