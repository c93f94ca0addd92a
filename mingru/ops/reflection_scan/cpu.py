"""One pass over t for every stretch of neighbouring blocks, a block's state in a vector register; README.md derives it."""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place, row, share
from mingru.ops.cpu.lanes import load, minus, spread, store, total, zeros
from mingru.ops.layout import packed


def scan(first, last, sizes, like, scratch, pattern, key, strength, drive, state, decay, states):
    steps, blocks, factors, stretch = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        previous = row(state, b, 0, start * width, like)
        for t in range(steps):
            k, s = row(key, b, t, start * width, like), row(strength, b, t, start, like)
            kept = row(decay, b, t, start * decay[3], like)
            x, h = row(drive, b, t, start * width, like), row(states, b, t, start * width, like)
            for n in range(min(stretch, blocks - start)):
                vector = spread(kept[n * decay[3]], zero) * load(previous, n * width, zero)
                for j in range(factors):
                    direction = load(k, (j * blocks + n) * width, zero)
                    vector = minus(vector, spread(s[j * blocks + n] * total(direction * vector), zero), direction)
                store(h, n * width, vector + load(x, n * width, zero))
            previous = h


@jit
def _block_back(width, factors, blocks, zero, scale, key, strength, previous, grad, carried, grad_key, grad_strength, before):
    """One block of one token: what the state before it receives, into `carried`; return the gradient of its decay."""
    state = load(previous, 0, zero)
    vector = spread(scale, zero) * state
    for j in range(factors):
        direction = load(key, j * blocks * width, zero)
        store(before, j * width, vector)
        vector = minus(vector, spread(strength[j * blocks] * total(direction * vector), zero), direction)
    received = load(grad, 0, zero)
    for j in range(factors - 1, -1, -1):
        direction, vector, s = load(key, j * blocks * width, zero), load(before, j * width, zero), strength[j * blocks]
        along, pull = total(direction * vector), total(direction * received)
        grad_strength[j * blocks] = -along * pull
        store(grad_key, j * blocks * width, spread(-s * along, zero) * received + spread(-s * pull, zero) * vector)
        received = minus(received, spread(s * pull, zero), direction)
    store(carried, 0, spread(scale, zero) * received)
    return total(received * state)


def _backward(
    first, last, sizes, like, scratch, pattern, grad, key, strength, state, decay, states,
    grad_key, grad_strength, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, factors, stretch = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    before = element(scratch, 0, like)
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
            k, grad_k = row(key, b, t, at, like), row(grad_key, b, t, at, like)
            s, grad_s = row(strength, b, t, start, like), row(grad_strength, b, t, start, like)
            kept, grad_kept = row(decay, b, t, start * decay[3], like), row(grad_decay, b, t, start, like)
            for n in range(size):
                here = n * width
                grad_kept[n] = _block_back(
                    width, factors, blocks, zero, kept[n * decay[3]], after(k, here), after(s, n), after(previous, here),
                    after(x, here), after(carried, here), after(grad_k, here), after(grad_s, n), before,
                )  # fmt: skip


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(key: Tensor) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Units and numbers touched, sizes, and a pattern of as many numbers as a block has."""
    batch, steps, factors, blocks, width = key.shape
    stretch, units = share(batch, blocks)
    return (units, key.numel()), (steps, blocks, factors, stretch), (0,) * width


def forward(key: Tensor, strength: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    key, strength, drive, state = packed(key, 2), packed(strength, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    work, sizes, pattern = _shares(key)
    places = place(key, 2), place(strength, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(work, drive.dtype, sizes, 0, pattern, *places)
    return states


def backward(
    grad: Tensor, key: Tensor, strength: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    grad, key, strength, state, states = packed(grad, 2), packed(key, 2), packed(strength, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(x.shape, dtype=grad.dtype) for x in (key, strength, grad, state, decay)]
    work, sizes, pattern = _shares(key)
    inputs = place(grad, 2), place(key, 2), place(strength, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 2, 1, 3), strict=True)]
    _backward_kernel(work, grad.dtype, sizes, sizes[2] * len(pattern), pattern, *inputs, *outputs)
    return tuple(results)
