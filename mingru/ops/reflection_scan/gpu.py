"""One pass over t for several blocks side by side; README.md derives the backward pass.

A tile is (lane, entry); K is padded to a power of two with zeros that are never stored.
"""

import triton
import triton.language as tl
from torch import Tensor

from mingru.ops.gpu.kernel import empty_like, lanes, launch, stages
from mingru.ops.layout import packed

# Entries of a tile: four for each thread of a warp.
TILE = 128


@triton.jit
def _factors(key, strength, row, inside, blocks, FACTORS: tl.constexpr, SIZE: tl.constexpr):
    keys, strengths = (), ()
    for j in tl.static_range(FACTORS):
        keys += (tl.load(key + j * blocks * SIZE, mask=row, other=0.0),)
        strengths += (tl.load(strength + j * blocks, mask=inside, other=0.0),)
    return keys, strengths


@triton.jit
def _tiles(n, inside, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Offsets of each block's entries, and their mask."""
    k = tl.arange(0, WIDTH)
    return (n * SIZE)[:, None] + k[None, :], inside[:, None] & (k < SIZE)[None, :]


@triton.jit
def _forward(
    key, strength, drive, state, decay, states,
    steps, blocks, total, key_batch, key_time, strength_batch, strength_time, drive_batch, drive_time, state_batch,
    decay_batch, decay_time, decay_block,
    FACTORS: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    k, row = _tiles(n, inside, SIZE, WIDTH)
    key += (b * key_batch)[:, None] + k
    strength += b * strength_batch + n
    drive += (b * drive_batch)[:, None] + k
    decay += b * decay_batch + n * decay_block
    states += (b * steps * blocks * SIZE)[:, None] + k
    h = tl.load(state + (b * state_batch)[:, None] + k, mask=row, other=0.0)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        keys, strengths = _factors(key + t * key_time, strength + t * strength_time, row, inside, blocks, FACTORS, SIZE)
        h *= tl.load(decay + t * decay_time, mask=inside, other=0.0)[:, None]
        for j in tl.static_range(FACTORS):
            h -= (strengths[j] * tl.sum(keys[j] * h, axis=1))[:, None] * keys[j]
        h += tl.load(drive + t * drive_time, mask=row, other=0.0)
        tl.store(states + t * blocks * SIZE, h, mask=row)


@triton.jit
def _backward(
    grad, key, strength, state, decay, states, grad_key, grad_strength, grad_drive, grad_state, grad_decay,
    steps, blocks, total, grad_batch, grad_time, key_batch, key_time, strength_batch, strength_time, state_batch,
    decay_batch, decay_time, decay_block, states_batch, states_time,
    FACTORS: tl.constexpr, SIZE: tl.constexpr, WIDTH: tl.constexpr, LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    k, row = _tiles(n, inside, SIZE, WIDTH)
    grad += (b * grad_batch)[:, None] + k
    key += (b * key_batch)[:, None] + k
    strength += b * strength_batch + n
    decay += b * decay_batch + n * decay_block
    state += (b * state_batch)[:, None] + k
    states += (b * states_batch)[:, None] + k
    grad_key += (b * steps * FACTORS * blocks * SIZE)[:, None] + k
    grad_strength += b * steps * FACTORS * blocks + n
    grad_drive += (b * steps * blocks * SIZE)[:, None] + k
    carried = tl.zeros([LANES, WIDTH], dtype=grad.dtype.element_ty)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(steps, tl.int64) - 1 - i
        # The state before the first token lies elsewhere: of the two loads, one is off and gives zero.
        previous = tl.load(states + (t - 1) * states_time, mask=row & (t + 0 * b > 0)[:, None], other=0.0)
        previous += tl.load(state, mask=row & (t + 0 * b == 0)[:, None], other=0.0)
        carried += tl.load(grad + t * grad_time, mask=row, other=0.0)
        tl.store(grad_drive + t * blocks * SIZE, carried, mask=row)
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)
        keys, strengths = _factors(key + t * key_time, strength + t * strength_time, row, inside, blocks, FACTORS, SIZE)
        before, alongs, h = (), (), kept[:, None] * previous
        for j in tl.static_range(FACTORS):
            along = tl.sum(keys[j] * h, axis=1)
            before += (h,)
            alongs += (along,)
            h -= (strengths[j] * along)[:, None] * keys[j]
        for j in tl.static_range(FACTORS - 1, -1, -1):
            s, along, pull = strengths[j], alongs[j], tl.sum(keys[j] * carried, axis=1)
            tl.store(grad_strength + (t * FACTORS + j) * blocks, -along * pull, mask=inside)
            turned = -(s * along)[:, None] * carried - (s * pull)[:, None] * before[j]
            tl.store(grad_key + (t * FACTORS + j) * blocks * SIZE, turned, mask=row)
            carried -= (s * pull)[:, None] * keys[j]
        tl.store(grad_decay + (b * steps + t) * blocks + n, tl.sum(carried * previous, axis=1), mask=inside)
        carried *= kept[:, None]
    tl.store(grad_state + (b * blocks * SIZE)[:, None] + k, carried, mask=row)


def _constants(key: Tensor, others: int) -> dict[str, int]:
    """Sizes of a tile; `others` is how many tensors with the axes of the drive a token reads."""
    factors, _, size = key.shape[2:]
    width = triton.next_power_of_2(size)
    lanes = max(1, TILE // width)
    numbers = lanes * (width * (factors + others) + factors + 1)
    return {"FACTORS": factors, "SIZE": size, "WIDTH": width, "LANES": lanes, "STAGES": stages(key, numbers)}


def forward(key: Tensor, strength: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    key, strength, drive, state = packed(key, 2), packed(strength, 2), packed(drive, 2), packed(state, 1)
    batch, steps, blocks, _ = drive.shape
    states = empty_like(drive)
    strides = *key.stride()[:2], *strength.stride()[:2], *drive.stride()[:2], state.stride(0), *decay.stride()
    arguments = key, strength, drive, state, decay, states, steps, blocks, batch * blocks, *strides
    constants = _constants(key, 1)
    launch(_forward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants)
    return states


def backward(
    grad: Tensor, key: Tensor, strength: Tensor, state: Tensor, decay: Tensor, states: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    grad, key, strength, state, states = packed(grad, 2), packed(key, 2), packed(strength, 2), packed(state, 1), packed(states, 2)
    batch, steps, blocks, _ = grad.shape
    results = [empty_like(x) for x in (key, strength, grad, state, decay)]
    leading = *grad.stride()[:2], *key.stride()[:2], *strength.stride()[:2]
    strides = *leading, state.stride(0), *decay.stride(), *states.stride()[:2]
    arguments = grad, key, strength, state, decay, states, *results, steps, blocks, batch * blocks, *strides
    constants = _constants(key, 3)
    launch(_backward, triton.cdiv(batch * blocks, constants["LANES"]), arguments, constants)
    return tuple(results)
