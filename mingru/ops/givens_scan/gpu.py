"""One pass over t for several blocks side by side; README.md derives the backward pass.

A tile is (lane, plane): the even entries of each block in one, the odd entries in another. An even round turns even[p]
against odd[p], an odd round odd[p] against even[p + 1], so even is rolled by one before it and back after it. Planes
are padded to a power of two with zeros that turn by nothing and are never stored; no roll reads one.
"""

import triton
import triton.language as tl
from torch import Tensor

from mingru.ops.gpu.kernel import empty_like, lanes, launch, stages
from mingru.ops.gpu.sine_cosine import sine_cosine
from mingru.ops.layout import packed

# Entries of a tile: four for each thread of a warp.
TILE = 128


@triton.jit
def _roll(tile, step, PLANES: tl.constexpr):
    """Column p of the result is column p + step of the tile, counted around."""
    p = tl.arange(0, tile.shape[1])
    source = tl.where(p < PLANES, (p + step) % PLANES, p)
    return tl.gather(tile, tl.broadcast_to(source[None, :], tile.shape), 1)


@triton.jit
def _turn(first, second, sine, cosine):
    return cosine * first - sine * second, sine * first + cosine * second


@triton.jit
def _sines_cosines(angle, plane, ROUNDS: tl.constexpr, PLANES: tl.constexpr):
    sines, cosines = (), ()
    for r in tl.static_range(ROUNDS):
        sine, cosine = sine_cosine(tl.load(angle + r * PLANES, mask=plane, other=0.0))
        sines += (sine,)
        cosines += (cosine,)
    return sines, cosines


@triton.jit
def _rounds(even, odd, sines, cosines, ROUNDS: tl.constexpr, PLANES: tl.constexpr):
    for r in tl.static_range(ROUNDS):
        if r % 2 == 0:
            even, odd = _turn(even, odd, sines[r], cosines[r])
        else:
            odd, even = _turn(odd, _roll(even, 1, PLANES), sines[r], cosines[r])
            even = _roll(even, PLANES - 1, PLANES)
    return even, odd


@triton.jit
def _rounds_back(even, odd, g_even, g_odd, sines, cosines, grad_angle, plane, ROUNDS: tl.constexpr, PLANES: tl.constexpr):
    """Turn state and gradient back from after the last round to before the first, storing the angles' gradients."""
    for r in tl.static_range(ROUNDS - 1, -1, -1):
        target = grad_angle + r * PLANES
        if r % 2 == 0:
            tl.store(target, g_odd * even - g_even * odd, mask=plane)
            even, odd = _turn(even, odd, -sines[r], cosines[r])
            g_even, g_odd = _turn(g_even, g_odd, -sines[r], cosines[r])
        else:
            even, g_even = _roll(even, 1, PLANES), _roll(g_even, 1, PLANES)
            tl.store(target, g_even * odd - g_odd * even, mask=plane)
            odd, even = _turn(odd, even, -sines[r], cosines[r])
            g_odd, g_even = _turn(g_odd, g_even, -sines[r], cosines[r])
            even, g_even = _roll(even, PLANES - 1, PLANES), _roll(g_even, PLANES - 1, PLANES)
    return g_even, g_odd


@triton.jit
def _tiles(n, inside, PLANES: tl.constexpr, WIDTH: tl.constexpr):
    """Offsets of the entries (even, odd) of each block and of a round's planes, and the masks of both."""
    p = tl.arange(0, WIDTH)
    plane = inside[:, None] & (p < PLANES)[None, :]
    entry = 2 * p[:, None] + tl.arange(0, 2)[None, :]
    pair = tl.broadcast_to(plane[:, :, None], inside.shape[0], WIDTH, 2)
    return (n * 2 * PLANES)[:, None, None] + entry[None, :, :], p[None, :], pair, plane


@triton.jit
def _forward(
    angle, drive, state, decay, states,
    steps, blocks, total, angle_batch, angle_time, drive_batch, drive_time, state_batch,
    decay_batch, decay_time, decay_block,
    ROUNDS: tl.constexpr, PLANES: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    entry, p, pair, plane = _tiles(n, inside, PLANES, WIDTH)
    angle += (b * angle_batch + n * ROUNDS * PLANES)[:, None] + p
    drive += (b * drive_batch)[:, None, None] + entry
    decay += b * decay_batch + n * decay_block
    states += (b * steps * blocks * 2 * PLANES)[:, None, None] + entry
    even, odd = tl.split(tl.load(state + (b * state_batch)[:, None, None] + entry, mask=pair, other=0.0))
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)[:, None]
        sines, cosines = _sines_cosines(angle + t * angle_time, plane, ROUNDS, PLANES)
        even, odd = _rounds(kept * even, kept * odd, sines, cosines, ROUNDS, PLANES)
        x, y = tl.split(tl.load(drive + t * drive_time, mask=pair, other=0.0))
        even, odd = even + x, odd + y
        tl.store(states + t * blocks * 2 * PLANES, tl.join(even, odd), mask=pair)


@triton.jit
def _backward(
    grad, angle, state, decay, states, grad_angle, grad_drive, grad_state, grad_decay,
    steps, blocks, total, grad_batch, grad_time, angle_batch, angle_time, state_batch,
    decay_batch, decay_time, decay_block, states_batch, states_time,
    ROUNDS: tl.constexpr, PLANES: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    entry, p, pair, plane = _tiles(n, inside, PLANES, WIDTH)
    grad += (b * grad_batch)[:, None, None] + entry
    angle += (b * angle_batch + n * ROUNDS * PLANES)[:, None] + p
    decay += b * decay_batch + n * decay_block
    state += (b * state_batch)[:, None, None] + entry
    states += (b * states_batch)[:, None, None] + entry
    grad_angle += ((b * steps * blocks + n) * ROUNDS * PLANES)[:, None] + p
    grad_drive += (b * steps * blocks * 2 * PLANES)[:, None, None] + entry
    g_even = tl.zeros([LANES, WIDTH], dtype=grad.dtype.element_ty)
    g_odd = tl.zeros([LANES, WIDTH], dtype=grad.dtype.element_ty)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(steps, tl.int64) - 1 - i
        # The state before the first token lies elsewhere: of the two loads, one is off and gives zero.
        later = pair & (t + 0 * b > 0)[:, None, None]
        previous = tl.load(states + (t - 1) * states_time, mask=later, other=0.0)
        previous += tl.load(state, mask=pair & (t + 0 * b == 0)[:, None, None], other=0.0)
        even, odd = tl.split(previous)
        x, y = tl.split(tl.load(grad + t * grad_time, mask=pair, other=0.0))
        g_even, g_odd = g_even + x, g_odd + y
        tl.store(grad_drive + t * blocks * 2 * PLANES, tl.join(g_even, g_odd), mask=pair)
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)
        sines, cosines = _sines_cosines(angle + t * angle_time, plane, ROUNDS, PLANES)
        last_even, last_odd = _rounds(kept[:, None] * even, kept[:, None] * odd, sines, cosines, ROUNDS, PLANES)
        target = grad_angle + t * blocks * ROUNDS * PLANES
        g_even, g_odd = _rounds_back(last_even, last_odd, g_even, g_odd, sines, cosines, target, plane, ROUNDS, PLANES)
        grad_kept = tl.sum(g_even * even + g_odd * odd, axis=1)
        tl.store(grad_decay + (b * steps + t) * blocks + n, grad_kept, mask=inside)
        g_even, g_odd = kept[:, None] * g_even, kept[:, None] * g_odd
    tl.store(grad_state + (b * blocks * 2 * PLANES)[:, None, None] + entry, tl.join(g_even, g_odd), mask=pair)


def _constants(angle: Tensor, pairs: int) -> dict[str, int]:
    """Sizes of a tile; `pairs` is how many tensors with the axes of the drive a token reads."""
    rounds, planes = angle.shape[3:]
    width = triton.next_power_of_2(planes)
    lanes = max(1, TILE // width)
    numbers = lanes * (width * (rounds + 2 * pairs) + 1)
    return {"ROUNDS": rounds, "PLANES": planes, "WIDTH": width, "LANES": lanes, "STAGES": stages(angle, numbers)}


def forward(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    angle, drive, state = packed(angle, 2), packed(drive, 2), packed(state, 1)
    batch, steps, blocks, _ = drive.shape
    states = empty_like(drive)
    strides = *angle.stride()[:2], *drive.stride()[:2], state.stride(0), *decay.stride()
    arguments = angle, drive, state, decay, states, steps, blocks, batch * blocks, *strides
    constants = _constants(angle, 1)
    launch(_forward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants)
    return states


def backward(grad: Tensor, angle: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, angle, state, states = packed(grad, 2), packed(angle, 2), packed(state, 1), packed(states, 2)
    batch, steps, blocks, _ = grad.shape
    results = [empty_like(x) for x in (angle, grad, state, decay)]
    strides = *grad.stride()[:2], *angle.stride()[:2], state.stride(0), *decay.stride(), *states.stride()[:2]
    arguments = grad, angle, state, decay, states, *results, steps, blocks, batch * blocks, *strides
    constants = _constants(angle, 3)
    launch(_backward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants)
    return tuple(results)
