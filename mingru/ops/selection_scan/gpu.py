"""One pass over t for several blocks side by side; README.md derives the backward pass.

A tile is (lane, row, column) of the logits; M is padded to a power of two with rows that move zeros and columns that are never
chosen, and none of it is stored. A choice is kept as ones and zeros, so that a scatter and a gather are sums over an axis of the tile.
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
    """Offsets of each block's entries and of its logits, and the masks of both."""
    m = tl.arange(0, WIDTH)
    row = inside[:, None] & (m < SIZE)[None, :]
    entry = (n * SIZE * SIZE)[:, None, None] + (m[:, None] * SIZE + m[None, :])[None, :, :]
    return (n * SIZE)[:, None] + m[None, :], entry, row, row[:, :, None] & (m < SIZE)[None, None, :]


@triton.jit
def _chosen(logits, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Whether an entry is the largest of its row, the first of equals; and the largest."""
    m = tl.arange(0, WIDTH)[None, None, :]
    candidates = tl.where(m < SIZE, logits, float("-inf"))
    largest = tl.max(candidates, axis=2)[:, :, None]
    first = tl.min(tl.where(candidates == largest, m, WIDTH), axis=2)
    return m == first[:, :, None], largest


@triton.jit
def _along_rows(chosen, vector):
    """Of each row, the number of the column that it chose."""
    return tl.sum(tl.where(chosen, vector[:, None, :], 0.0), axis=2)


@triton.jit
def _along_columns(chosen, vector):
    """Of each column, the sum over the rows that chose it."""
    return tl.sum(tl.where(chosen, vector[:, :, None], 0.0), axis=1)


@triton.jit
def _forward(
    logits, drive, state, decay, states,
    steps, blocks, total, logits_batch, logits_time, drive_batch, drive_time, state_batch,
    decay_batch, decay_time, decay_block,
    BY_SOURCE: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    m, entry, row, square = _tiles(n, inside, SIZE, WIDTH)
    logits += (b * logits_batch)[:, None, None] + entry
    drive += (b * drive_batch)[:, None] + m
    decay += b * decay_batch + n * decay_block
    states += (b * steps * blocks * SIZE)[:, None] + m
    h = tl.load(state + (b * state_batch)[:, None] + m, mask=row, other=0.0)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        rows = tl.load(logits + t * logits_time, mask=square, other=0.0)
        chosen, _ = _chosen(rows, SIZE, WIDTH)
        h *= tl.load(decay + t * decay_time, mask=inside, other=0.0)[:, None]
        # Zero, or NaN where a logit or an entry is not finite, be it chosen or not.
        nothing = 0.0 * tl.sum(h + tl.sum(rows, axis=2), axis=1)
        if BY_SOURCE:
            h = _along_columns(chosen, h)
        else:
            h = _along_rows(chosen, h)
        h += tl.load(drive + t * drive_time, mask=row, other=0.0) + nothing[:, None]
        tl.store(states + t * blocks * SIZE, h, mask=row)
        h = tl.where(row, h, 0.0)


@triton.jit
def _backward(
    grad, logits, state, decay, states, grad_logits, grad_drive, grad_state, grad_decay,
    steps, blocks, total, grad_batch, grad_time, logits_batch, logits_time, state_batch,
    decay_batch, decay_time, decay_block, states_batch, states_time,
    BY_SOURCE: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    m, entry, row, square = _tiles(n, inside, SIZE, WIDTH)
    grad += (b * grad_batch)[:, None] + m
    logits += (b * logits_batch)[:, None, None] + entry
    decay += b * decay_batch + n * decay_block
    state += (b * state_batch)[:, None] + m
    states += (b * states_batch)[:, None] + m
    grad_logits += (b * steps * blocks * SIZE * SIZE)[:, None, None] + entry
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
        rows = tl.load(logits + t * logits_time, mask=square, other=0.0)
        chosen, largest = _chosen(rows, SIZE, WIDTH)
        soft = tl.where(square, tl.exp(rows - largest), 0.0)
        # A row outside has no number to divide by.
        soft /= tl.where(row, tl.sum(soft, axis=2), 1.0)[:, :, None]
        moved = kept[:, None] * previous
        if BY_SOURCE:
            of_choice = moved[:, :, None] * carried[:, None, :]
        else:
            of_choice = carried[:, :, None] * moved[:, None, :]
        of_logits = soft * (of_choice - tl.sum(soft * of_choice, axis=2)[:, :, None])
        tl.store(grad_logits + t * blocks * SIZE * SIZE, of_logits, mask=square)
        if BY_SOURCE:
            carried = _along_rows(chosen, carried)
        else:
            carried = _along_columns(chosen, carried)
        carried = tl.where(row, carried, 0.0)
        tl.store(grad_decay + (b * steps + t) * blocks + n, tl.sum(carried * previous, axis=1), mask=inside)
        carried *= kept[:, None]
    tl.store(grad_state + (b * blocks * SIZE)[:, None] + m, carried, mask=row)


def _constants(logits: Tensor, by_source: bool) -> dict[str, int]:
    size = logits.shape[-1]
    width = triton.next_power_of_2(size)
    lanes = min(64, max(1, TILE // (width * width)))
    ahead = stages(logits, lanes * (width * width + 3 * width + 1))
    return {"BY_SOURCE": by_source, "SIZE": size, "WIDTH": width, "LANES": lanes, "STAGES": ahead}


def _warps(constants: dict[str, int]) -> int:
    return max(1, min(8, constants["LANES"] * constants["WIDTH"] ** 2 // 1024))


def forward(logits: Tensor, drive: Tensor, state: Tensor, decay: Tensor, by_source: bool) -> Tensor:
    logits, drive, state = packed(logits, 2), packed(drive, 2), packed(state, 1)
    batch, steps, blocks, _ = drive.shape
    states = empty_like(drive)
    strides = *logits.stride()[:2], *drive.stride()[:2], state.stride(0), *decay.stride()
    arguments = logits, drive, state, decay, states, steps, blocks, batch * blocks, *strides
    constants = _constants(logits, by_source)
    launch(_forward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants, _warps(constants))
    return states


def backward(
    grad: Tensor, logits: Tensor, state: Tensor, decay: Tensor, states: Tensor, by_source: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, logits, state, states = packed(grad, 2), packed(logits, 2), packed(state, 1), packed(states, 2)
    batch, steps, blocks, _ = grad.shape
    results = [empty_like(x) for x in (logits, grad, state, decay)]
    strides = *grad.stride()[:2], *logits.stride()[:2], state.stride(0), *decay.stride(), *states.stride()[:2]
    arguments = grad, logits, state, decay, states, *results, steps, blocks, batch * blocks, *strides
    constants = _constants(logits, by_source)
    launch(_backward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants, _warps(constants))
    return tuple(results)
