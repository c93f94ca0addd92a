"""One pass over t for several blocks side by side; README.md derives the backward pass.

A tile is (lane, row, column) of the transitions; M is padded to a power of two with zeros that are never stored.
"""

import triton
import triton.language as tl
from torch import Tensor

from mingru.ops.gpu.kernel import empty_like, lanes, launch, stages
from mingru.ops.layout import packed

# Entries of a tile: eight for each thread of a warp.
TILE = 256


@triton.jit
def _tiles(n, inside, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Offsets of each block's entries and of its matrix's, and the masks of both."""
    m = tl.arange(0, WIDTH)
    row = inside[:, None] & (m < SIZE)[None, :]
    entry = (n * SIZE * SIZE)[:, None, None] + (m[:, None] * SIZE + m[None, :])[None, :, :]
    return (n * SIZE)[:, None] + m[None, :], entry, row, row[:, :, None] & (m < SIZE)[None, None, :]


@triton.jit
def _forward(
    transition, drive, state, decay, states,
    steps, blocks, total, transition_batch, transition_time, drive_batch, drive_time, state_batch,
    decay_batch, decay_time, decay_block,
    SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    m, entry, row, square = _tiles(n, inside, SIZE, WIDTH)
    transition += (b * transition_batch)[:, None, None] + entry
    drive += (b * drive_batch)[:, None] + m
    decay += b * decay_batch + n * decay_block
    states += (b * steps * blocks * SIZE)[:, None] + m
    h = tl.load(state + (b * state_batch)[:, None] + m, mask=row, other=0.0)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        h *= tl.load(decay + t * decay_time, mask=inside, other=0.0)[:, None]
        h = tl.sum(tl.load(transition + t * transition_time, mask=square, other=0.0) * h[:, None, :], axis=2)
        h += tl.load(drive + t * drive_time, mask=row, other=0.0)
        tl.store(states + t * blocks * SIZE, h, mask=row)


@triton.jit
def _backward(
    grad, transition, state, decay, states, grad_transition, grad_drive, grad_state, grad_decay,
    steps, blocks, total, grad_batch, grad_time, transition_batch, transition_time, state_batch,
    decay_batch, decay_time, decay_block, states_batch, states_time,
    SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    m, entry, row, square = _tiles(n, inside, SIZE, WIDTH)
    grad += (b * grad_batch)[:, None] + m
    transition += (b * transition_batch)[:, None, None] + entry
    decay += b * decay_batch + n * decay_block
    state += (b * state_batch)[:, None] + m
    states += (b * states_batch)[:, None] + m
    grad_transition += (b * steps * blocks * SIZE * SIZE)[:, None, None] + entry
    grad_drive += (b * steps * blocks * SIZE)[:, None] + m
    carried = tl.zeros([LANES, WIDTH], dtype=grad.dtype.element_ty)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(steps, tl.int64) - 1 - i
        # The state before the first token lies elsewhere: of the two loads, one is off and gives zero.
        previous = tl.load(states + (t - 1) * states_time, mask=row & (t + 0 * b > 0)[:, None], other=0.0)
        previous += tl.load(state, mask=row & (t + 0 * b == 0)[:, None], other=0.0)
        carried += tl.load(grad + t * grad_time, mask=row, other=0.0)
        tl.store(grad_drive + t * blocks * SIZE, carried, mask=row)
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)
        outer = carried[:, :, None] * (kept[:, None] * previous)[:, None, :]
        tl.store(grad_transition + t * blocks * SIZE * SIZE, outer, mask=square)
        a = tl.load(transition + t * transition_time, mask=square, other=0.0)
        carried = tl.sum(a * carried[:, :, None], axis=1)
        tl.store(grad_decay + (b * steps + t) * blocks + n, tl.sum(carried * previous, axis=1), mask=inside)
        carried *= kept[:, None]
    tl.store(grad_state + (b * blocks * SIZE)[:, None] + m, carried, mask=row)


def _constants(transition: Tensor) -> dict[str, int]:
    size = transition.shape[-1]
    width = triton.next_power_of_2(size)
    lanes = min(64, max(1, TILE // (width * width)))
    ahead = stages(transition, lanes * (width * width + 3 * width + 1))
    return {"SIZE": size, "WIDTH": width, "LANES": lanes, "STAGES": ahead}


def _warps(constants: dict[str, int]) -> int:
    return max(1, min(8, constants["LANES"] * constants["WIDTH"] ** 2 // 1024))


def forward(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    transition, drive, state = packed(transition, 2), packed(drive, 2), packed(state, 1)
    batch, steps, blocks, _ = drive.shape
    states = empty_like(drive)
    strides = *transition.stride()[:2], *drive.stride()[:2], state.stride(0), *decay.stride()
    arguments = transition, drive, state, decay, states, steps, blocks, batch * blocks, *strides
    constants = _constants(transition)
    launch(_forward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants, _warps(constants))
    return states


def backward(grad: Tensor, transition: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, transition, state, states = packed(grad, 2), packed(transition, 2), packed(state, 1), packed(states, 2)
    batch, steps, blocks, _ = grad.shape
    results = [empty_like(x) for x in (transition, grad, state, decay)]
    strides = *grad.stride()[:2], *transition.stride()[:2], state.stride(0), *decay.stride(), *states.stride()[:2]
    arguments = grad, transition, state, decay, states, *results, steps, blocks, batch * blocks, *strides
    constants = _constants(transition)
    launch(_backward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants, _warps(constants))
    return tuple(results)
