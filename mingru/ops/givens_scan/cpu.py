"""One pass over t for TILE sequences (a sequence is one block of one batch entry) side by side.

A rotation is then a loop over a row of neighbouring numbers. README.md derives the backward pass.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place
from mingru.ops.cpu.lanes import LANES, load, store
from mingru.ops.cpu.sine_cosine import sine_cosine
from mingru.ops.cpu.tiles import add, decayed, decayed_back, read, spot, write, zero
from mingru.ops.layout import packed

# Long enough rows to be worth a loop, tiles small enough for the first cache.
TILE = 64


@jit
def _rounds(rounds, width, pitch, sine, cosine, turned):
    """Tile r + 1 of `turned` is its tile r after round r."""
    for r in range(rounds):
        old, new = after(turned, r * width * pitch), after(turned, (r + 1) * width * pitch)
        for plane in range(width // 2):
            i = (2 * plane + r % 2) * pitch
            j = (2 * plane + r % 2 + 1) % width * pitch
            at = (r * width // 2 + plane) * pitch
            for lane in range(0, pitch, LANES):
                s, c = load(sine, at + lane), load(cosine, at + lane)
                a, b = load(old, i + lane), load(old, j + lane)
                store(new, i + lane, c * a - s * b)
                store(new, j + lane, s * a + c * b)


@jit
def _rounds_back(rounds, width, pitch, sine, cosine, turned, grad, grad_angle):
    """Turn `grad` from the gradient of the last tile of `turned` into that of the first."""
    for r in range(rounds - 1, -1, -1):
        old = after(turned, r * width * pitch)
        for plane in range(width // 2):
            i = (2 * plane + r % 2) * pitch
            j = (2 * plane + r % 2 + 1) % width * pitch
            at = (r * width // 2 + plane) * pitch
            for lane in range(0, pitch, LANES):
                s, c = load(sine, at + lane), load(cosine, at + lane)
                a, b = load(grad, i + lane), load(grad, j + lane)
                grad_a, grad_b = c * a + s * b, c * b - s * a
                store(grad, i + lane, grad_a)
                store(grad, j + lane, grad_b)
                store(grad_angle, at + lane, grad_b * load(old, i + lane) - grad_a * load(old, j + lane))


@jit
def _tiles(scratch, sizes, like):
    """Angles, sines, cosines, decays and their gradients, a state, another one, and the state after each round."""
    _, _, _, rounds, width = sizes
    turning = rounds * width // 2 * TILE
    angle = element(scratch, 0, like)
    decay = after(angle, 3 * turning)
    state = after(decay, 2 * TILE)
    another = after(state, width * TILE)
    return angle, after(angle, turning), after(angle, 2 * turning), decay, state, another, after(another, width * TILE)


def _forward(first, last, sizes, like, scratch, angle, drive, state, decay, states):
    batch, steps, blocks, rounds, width = sizes
    turning = rounds * width // 2
    angles, sines, cosines, decays, h, _, turned = _tiles(scratch, sizes, like)
    for unit in range(first, last):
        at = spot(unit, TILE, batch, blocks, 1)
        pitch = at[3]
        zero(turning * pitch, angles)
        zero(TILE, decays)
        zero(width * pitch, h)
        read(state, at, 0, width, width, h, like)
        for t in range(steps):
            read(angle, at, t, turning, turning, angles, like)
            sine_cosine(angles, turning * pitch, sines, cosines, like)
            if t == 0 or decay[2] != 0:
                read(decay, at, t, 1, decay[3], decays, like)
            decayed(width, pitch, decays, h, turned)
            _rounds(rounds, width, pitch, sines, cosines, turned)
            read(drive, at, t, width, width, h, like)
            add(width * pitch, h, after(turned, rounds * width * pitch))
            write(states, at, t, width, width, h, like)


def _backward(
    first, last, sizes, like, scratch, grad, angle, state, decay, states, grad_angle, grad_drive, grad_state, grad_decay
):  # fmt: skip
    batch, steps, blocks, rounds, width = sizes
    turning = rounds * width // 2
    angles, sines, cosines, decays, h, carried, turned = _tiles(scratch, sizes, like)
    grad_decays = after(decays, TILE)
    for unit in range(first, last):
        at = spot(unit, TILE, batch, blocks, -1)
        pitch = at[3]
        zero(turning * pitch, angles)
        zero(TILE, decays)
        zero(2 * width * TILE, h)
        for t in range(steps - 1, -1, -1):
            read(grad, at, t, width, width, h, like)
            add(width * pitch, carried, h)
            write(grad_drive, at, t, width, width, carried, like)
            read(angle, at, t, turning, turning, angles, like)
            sine_cosine(angles, turning * pitch, sines, cosines, like)
            if t == steps - 1 or decay[2] != 0:
                read(decay, at, t, 1, decay[3], decays, like)
            if t > 0:
                read(states, at, t - 1, width, width, h, like)
            else:
                read(state, at, 0, width, width, h, like)
            decayed(width, pitch, decays, h, turned)
            _rounds(rounds - 1, width, pitch, sines, cosines, turned)
            _rounds_back(rounds, width, pitch, sines, cosines, turned, carried, angles)
            write(grad_angle, at, t, turning, turning, angles, like)
            decayed_back(width, pitch, decays, h, carried, grad_decays, like)
            write(grad_decay, at, t, 1, 1, grad_decays, like)
        write(grad_state, at, 0, width, width, carried, like)


_forward_kernel = Kernel(_forward)
_backward_kernel = Kernel(_backward)


def _work(angle: Tensor) -> tuple[int, int]:
    return -(-angle.shape[0] * angle.shape[2] // TILE), 2 * angle.numel()


def _sizes(angle: Tensor) -> tuple[int, ...]:
    batch, steps, blocks, rounds, planes = angle.shape
    return batch, steps, blocks, rounds, 2 * planes


def _scratch(angle: Tensor) -> int:
    rounds, planes = angle.shape[3:]
    return TILE * (3 * rounds * planes + 2 + 2 * planes * (rounds + 3))


def forward(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    angle, drive, state = packed(angle, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    places = place(angle, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(_work(angle), drive.dtype, _sizes(angle), _scratch(angle), *places)
    return states


def backward(
    grad: Tensor, angle: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, angle, state, states = packed(grad, 2), packed(angle, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(like.shape, dtype=grad.dtype) for like in (angle, grad, state, decay)]
    inputs = place(grad, 2), place(angle, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(_work(angle), grad.dtype, _sizes(angle), _scratch(angle), *inputs, *outputs)
    return tuple(results)
