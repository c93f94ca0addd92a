"""One pass over t for LANES sequences (a sequence is one block of one batch entry) side by side.

A tile has one number per sequence in each row, so that a rotation is a loop over neighbouring numbers. The rows of a
state tile are the even entries of the block, then the odd ones: an even round turns row p against row K/2 + p, an odd
round row K/2 + p against row p + 1, and its last plane wraps around to row 0. README.md derives the backward pass.
"""

import torch
from torch import Tensor

from mingru.ops.cpu_kernel import Kernel, after, element, jit, packed, place, prefetch
from mingru.ops.sine_cosine import sine_cosine

# Loops long enough for vector registers, tiles small enough for the first cache.
LANES = 64


@jit
def _read(source, spot, t, shape, tile, like):
    """Fill a tile from token t: first every `apart`-th column of the source, then the ones after these, and so on.

    Starts to load token t + `ahead` too: the pieces are too short for the processor to see where they lead.
    """
    first, lanes, blocks, ahead = spot
    rows, apart, stride = shape
    b, n = first // blocks, first % blocks
    for lane in range(lanes):
        values = element(source[0], b * source[1] + t * source[2] + n * stride, like)
        prefetch(after(values, ahead * source[2]))
        for start in range(apart):
            column = after(tile, start * rows * lanes + lane)
            for p in range(rows):
                column[p * lanes] = values[p * apart + start]
        n += 1
        if n == blocks:
            b, n = b + 1, 0


@jit
def _write(target, spot, t, shape, tile, like):
    """The reverse of _read."""
    first, lanes, blocks, ahead = spot
    rows, apart, stride = shape
    b, n = first // blocks, first % blocks
    for lane in range(lanes):
        values = element(target[0], b * target[1] + t * target[2] + n * stride, like)
        prefetch(after(values, ahead * target[2]))
        for start in range(apart):
            column = after(tile, start * rows * lanes + lane)
            for p in range(rows):
                values[p * apart + start] = column[p * lanes]
        n += 1
        if n == blocks:
            b, n = b + 1, 0


@jit
def _turn(count, sine, cosine, first, second, turned_first, turned_second):
    for i in range(count):
        a, b = first[i], second[i]
        turned_first[i] = cosine[i] * a - sine[i] * b
        turned_second[i] = sine[i] * a + cosine[i] * b


@jit
def _turn_back(count, sine, cosine, first, second, grad_first, grad_second, grad_angle):
    for i in range(count):
        a, b = grad_first[i], grad_second[i]
        grad_first[i] = cosine[i] * a + sine[i] * b
        grad_second[i] = cosine[i] * b - sine[i] * a
    # A loop of its own: with three results the compiler gives up on proving that they do not overlap.
    for i in range(count):
        grad_angle[i] = grad_second[i] * first[i] - grad_first[i] * second[i]


@jit
def _rounds(rounds, half, lanes, sine, cosine, turned):
    """turned[r + 1] is turned[r] after round r; a tile of a state takes 2 * half numbers, `half` a row of planes."""
    for r in range(rounds):
        even, s, c = after(turned, 2 * r * half), after(sine, r * half), after(cosine, r * half)
        odd, new_even, new_odd = after(even, half), after(even, 2 * half), after(even, 3 * half)
        if r % 2 == 0:
            _turn(half, s, c, even, odd, new_even, new_odd)
        else:
            wrap = half - lanes
            _turn(wrap, s, c, odd, after(even, lanes), new_odd, after(new_even, lanes))
            _turn(lanes, after(s, wrap), after(c, wrap), after(odd, wrap), even, after(new_odd, wrap), new_even)


@jit
def _rounds_back(rounds, half, lanes, sine, cosine, turned, grad, grad_angle):
    odd_grad = after(grad, half)
    for r in range(rounds - 1, -1, -1):
        even, s, c, g = (
            after(turned, 2 * r * half),
            after(sine, r * half),
            after(cosine, r * half),
            after(grad_angle, r * half),
        )
        odd = after(even, half)
        if r % 2 == 0:
            _turn_back(half, s, c, even, odd, grad, odd_grad, g)
        else:
            wrap = half - lanes
            _turn_back(wrap, s, c, odd, after(even, lanes), odd_grad, after(grad, lanes), g)
            _turn_back(
                lanes,
                after(s, wrap),
                after(c, wrap),
                after(odd, wrap),
                even,
                after(odd_grad, wrap),
                grad,
                after(g, wrap),
            )


@jit
def _decay(width, lanes, decay, state, result):
    for k in range(width):
        row, result_row = after(state, k * lanes), after(result, k * lanes)
        for lane in range(lanes):
            result_row[lane] = decay[lane] * row[lane]


@jit
def _decay_back(width, lanes, decay, state, grad, grad_decay):
    """Turn the gradient of the decayed state into those of the decay and of the state before it."""
    for lane in range(lanes):
        grad_decay[lane] = 0
    for k in range(width):
        row, grad_row = after(state, k * lanes), after(grad, k * lanes)
        for lane in range(lanes):
            grad_decay[lane] += grad_row[lane] * row[lane]
            grad_row[lane] *= decay[lane]


@jit
def _add(count, result, other):
    for i in range(count):
        result[i] += other[i]


@jit
def _tiles(scratch, sizes, like):
    """Angles, sines, cosines, decays, the state, another tile of its shape, and the state after each round."""
    _, _, _, rounds, width = sizes
    turning = rounds * width // 2 * LANES
    angle = element(scratch, 0, like)
    sine, cosine, decay = after(angle, turning), after(angle, 2 * turning), after(angle, 3 * turning)
    state = after(decay, 2 * LANES)
    other = after(state, width * LANES)
    return angle, sine, cosine, decay, state, other, after(other, width * LANES)


def _forward(first, last, sizes, like, scratch, angle, drive, state, decay, states):
    batch, steps, blocks, rounds, width = sizes
    turning = rounds * width // 2
    angles, sines, cosines, decays, h, x, turned = _tiles(scratch, sizes, like)
    for unit in range(first, last):
        lanes = min(LANES, batch * blocks - unit * LANES)
        spot, block = (unit * LANES, lanes, blocks, 1), (width // 2, 2, width)
        _read(state, spot, 0, block, h, like)
        for t in range(steps):
            _read(angle, spot, t, (turning, 1, turning), angles, like)
            sine_cosine(angles, turning * lanes, sines, cosines, like)
            if t == 0 or decay[2] != 0:
                _read(decay, spot, t, (1, 1, decay[3]), decays, like)
            _decay(width, lanes, decays, h, turned)
            _rounds(rounds, width // 2 * lanes, lanes, sines, cosines, turned)
            _read(drive, spot, t, block, h, like)
            _add(width * lanes, h, after(turned, rounds * width * lanes))
            _write(states, spot, t, block, h, like)


def _backward(
    first, last, sizes, like, scratch, grad, angle, state, decay, states, grad_angle, grad_drive, grad_state, grad_decay
):
    batch, steps, blocks, rounds, width = sizes
    turning = rounds * width // 2
    angles, sines, cosines, decays, h, carried, turned = _tiles(scratch, sizes, like)
    grad_decays = after(decays, LANES)
    for unit in range(first, last):
        lanes = min(LANES, batch * blocks - unit * LANES)
        spot, block = (unit * LANES, lanes, blocks, -1), (width // 2, 2, width)
        for i in range(width * lanes):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            _read(grad, spot, t, block, h, like)
            _add(width * lanes, carried, h)
            _write(grad_drive, spot, t, block, carried, like)
            _read(angle, spot, t, (turning, 1, turning), angles, like)
            sine_cosine(angles, turning * lanes, sines, cosines, like)
            if t == steps - 1 or decay[2] != 0:
                _read(decay, spot, t, (1, 1, decay[3]), decays, like)
            if t > 0:
                _read(states, spot, t - 1, block, h, like)
            else:
                _read(state, spot, 0, block, h, like)
            _decay(width, lanes, decays, h, turned)
            _rounds(rounds - 1, width // 2 * lanes, lanes, sines, cosines, turned)
            _rounds_back(rounds, width // 2 * lanes, lanes, sines, cosines, turned, carried, angles)
            _write(grad_angle, spot, t, (turning, 1, turning), angles, like)
            _decay_back(width, lanes, decays, h, carried, grad_decays)
            _write(grad_decay, spot, t, (1, 1, 1), grad_decays, like)
        _write(grad_state, spot, 0, block, carried, like)


_forward_kernel = Kernel(_forward)
_backward_kernel = Kernel(_backward)


def _work(angle: Tensor) -> tuple[int, int]:
    return -(-angle.shape[0] * angle.shape[2] // LANES), 2 * angle.numel()


def _sizes(angle: Tensor) -> tuple[int, ...]:
    batch, steps, blocks, rounds, planes = angle.shape
    return batch, steps, blocks, rounds, 2 * planes


def _scratch(angle: Tensor) -> int:
    rounds, planes = angle.shape[3:]
    return LANES * (3 * rounds * planes + 2 + 2 * planes * (rounds + 3))


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
