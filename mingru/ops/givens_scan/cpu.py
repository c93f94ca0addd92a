"""One pass over t for every stretch of neighbouring blocks; README.md derives the backward pass.

The planes of a round are lanes: a block is held as its even and its odd entries, K/2 lanes each. An even round turns
the one against the other; an odd one turns the odd entries against the even ones moved down by one place.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place, row, share
from mingru.ops.cpu.lanes import down, evens, load, lower, minus, odds, plus, spread, store, total, up, upper, zeros
from mingru.ops.cpu.sine_cosine import sine_cosine
from mingru.ops.layout import packed


@jit
def _turn(first, second, sine, cosine):
    return minus(cosine * first, sine, second), plus(sine * first, cosine, second)


@jit
def _round(r, even, odd, sine, cosine):
    if r % 2 == 0:
        return _turn(even, odd, sine, cosine)
    odd, moved = _turn(odd, down(even, even), sine, cosine)
    return up(moved, moved), odd


@jit
def _turn_back(first, second, sine, cosine, grad_first, grad_second):
    """From the gradients after a turn of two vectors: the gradients of both before it, and of the angles."""
    grad_first, grad_second = (
        plus(cosine * grad_first, sine, grad_second),
        minus(cosine * grad_second, sine, grad_first),
    )
    return grad_first, grad_second, minus(grad_second * first, grad_first, second)


@jit
def _round_back(r, even, odd, sine, cosine, grad_even, grad_odd):
    if r % 2 == 0:
        return _turn_back(even, odd, sine, cosine, grad_even, grad_odd)
    moved = down(grad_even, grad_even)
    grad_odd, moved, grad_angle = _turn_back(odd, down(even, even), sine, cosine, grad_odd, moved)
    return up(moved, moved), grad_odd, grad_angle


@jit
def _read(source, at, planes, zero):
    """The even and the odd entries of a block."""
    first, second = load(source, at, zero), load(source, at + planes, zero)
    return evens(first, second), odds(first, second)


@jit
def _write(target, at, planes, even, odd):
    store(target, at, lower(even, odd))
    store(target, at + planes, upper(even, odd))


def scan(first, last, sizes, like, scratch, pattern, angle, drive, state, decay, states):
    steps, blocks, rounds, stretch = sizes
    planes, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    sine = element(scratch, 0, like)
    cosine = after(sine, stretch * rounds * planes)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size, at = min(stretch, blocks - start), 2 * planes * start
        previous = row(state, b, 0, at, like)
        for t in range(steps):
            angles = row(angle, b, t, start * rounds * planes, like)
            sine_cosine(angles, size * rounds * planes, sine, cosine, like)
            x, h, kept = (
                row(drive, b, t, at, like),
                row(states, b, t, at, like),
                row(decay, b, t, start * decay[3], like),
            )
            for n in range(size):
                scale = spread(kept[n * decay[3]], zero)
                even, odd = _read(previous, 2 * n * planes, planes, zero)
                even, odd = scale * even, scale * odd
                for r in range(rounds):
                    turn = (n * rounds + r) * planes
                    even, odd = _round(r, even, odd, load(sine, turn, zero), load(cosine, turn, zero))
                drive_even, drive_odd = _read(x, 2 * n * planes, planes, zero)
                _write(h, 2 * n * planes, planes, even + drive_even, odd + drive_odd)
            previous = h


@jit
def _block_back(planes, rounds, zero, scale, previous, sine, cosine, grad, grad_angle, turned):
    """One block of one token: turn `grad` into the gradient of the state before; return that of its decay."""
    first_even, first_odd = _read(previous, 0, planes, zero)
    grad_even, grad_odd = _read(grad, 0, planes, zero)
    even, odd = scale * first_even, scale * first_odd
    for r in range(rounds):
        store(turned, 2 * r * planes, even)
        store(turned, 2 * r * planes + planes, odd)
        if r < rounds - 1:
            even, odd = _round(r, even, odd, load(sine, r * planes, zero), load(cosine, r * planes, zero))
    for r in range(rounds - 1, -1, -1):
        even, odd = load(turned, 2 * r * planes, zero), load(turned, 2 * r * planes + planes, zero)
        s, c = load(sine, r * planes, zero), load(cosine, r * planes, zero)
        grad_even, grad_odd, of_angles = _round_back(r, even, odd, s, c, grad_even, grad_odd)
        store(grad_angle, r * planes, of_angles)
    _write(grad, 0, planes, scale * grad_even, scale * grad_odd)
    return total(grad_even * first_even + grad_odd * first_odd)


def _backward(
    first, last, sizes, like, scratch, pattern, grad, angle, state, decay, states,
    grad_angle, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, rounds, stretch = sizes
    planes, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    sine = element(scratch, 0, like)
    cosine, turned = after(sine, stretch * rounds * planes), after(sine, 2 * stretch * rounds * planes)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size, at, turns = min(stretch, blocks - start), 2 * planes * start, start * rounds * planes
        carried = row(grad_state, b, 0, at, like)
        for i in range(2 * size * planes):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            g, x = row(grad, b, t, at, like), row(grad_drive, b, t, at, like)
            for i in range(2 * size * planes):
                carried[i] += g[i]
            for i in range(2 * size * planes):
                x[i] = carried[i]
            sine_cosine(row(angle, b, t, turns, like), size * rounds * planes, sine, cosine, like)
            previous = row(states, b, t - 1, at, like) if t > 0 else row(state, b, 0, at, like)
            kept, grad_kept = row(decay, b, t, start * decay[3], like), row(grad_decay, b, t, start, like)
            angles = row(grad_angle, b, t, turns, like)
            for n in range(size):
                here, turn = 2 * n * planes, n * rounds * planes
                grad_kept[n] = _block_back(
                    planes, rounds, zero, spread(kept[n * decay[3]], zero), after(previous, here),
                    after(sine, turn), after(cosine, turn), after(carried, here), after(angles, turn), turned,
                )  # fmt: skip


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(angle: Tensor) -> tuple[tuple[int, int], tuple[int, ...], int, tuple[int, ...]]:
    """Units and numbers touched, sizes, scratch memory, and a pattern of as many numbers as a round has planes."""
    batch, steps, blocks, rounds, planes = angle.shape
    stretch, units = share(batch, blocks)
    return (
        (units, 2 * angle.numel()),
        (steps, blocks, rounds, stretch),
        2 * rounds * planes * (stretch + 1),
        (0,) * planes,
    )


def forward(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    angle, drive, state = packed(angle, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    work, sizes, scratch, pattern = _shares(angle)
    places = place(angle, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(work, drive.dtype, sizes, scratch, pattern, *places)
    return states


def backward(grad: Tensor, angle: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, angle, state, states = packed(grad, 2), packed(angle, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(like.shape, dtype=grad.dtype) for like in (angle, grad, state, decay)]
    work, sizes, scratch, pattern = _shares(angle)
    inputs = place(grad, 2), place(angle, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(work, grad.dtype, sizes, scratch, pattern, *inputs, *outputs)
    return tuple(results)
