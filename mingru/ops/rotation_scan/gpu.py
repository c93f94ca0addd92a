"""One pass over t for LANES blocks side by side; README.md derives the backward pass."""

import triton
import triton.language as tl
from torch import Tensor

from mingru.ops.gpu.kernel import empty_like, lanes, launch, stages
from mingru.ops.gpu.sine_cosine import sine_cosine
from mingru.ops.layout import packed

LANES = 32


@triton.jit
def _load_pair(pair, inside):
    return tl.load(pair, mask=inside, other=0.0), tl.load(pair + 1, mask=inside, other=0.0)


@triton.jit
def _store_pair(pair, first, second, inside):
    tl.store(pair, first, mask=inside)
    tl.store(pair + 1, second, mask=inside)


@triton.jit
def _forward(
    angle, scale, drive, state, decay, states,
    steps, blocks, total, angle_batch, angle_time, scale_batch, scale_time, drive_batch, drive_time,
    state_batch, decay_batch, decay_time, decay_block,
    LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    angle += b * angle_batch + n
    scale += b * scale_batch + n
    drive += b * drive_batch + 2 * n
    decay += b * decay_batch + n * decay_block
    states += 2 * (b * steps * blocks + n)
    first, second = _load_pair(state + b * state_batch + 2 * n, inside)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        sine, cosine = sine_cosine(tl.load(angle + t * angle_time, mask=inside, other=0.0))
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)
        flip = tl.load(scale + t * scale_time, mask=inside, other=0.0)
        x, y = _load_pair(drive + t * drive_time, inside)
        first, second = kept * first, flip * (kept * second)
        first, second = cosine * first - sine * second + x, sine * first + cosine * second + y
        _store_pair(states + t * 2 * blocks, first, second, inside)


@triton.jit
def _backward(
    grad, angle, scale, state, decay, states, grad_angle, grad_scale, grad_drive, grad_state, grad_decay,
    steps, blocks, total, grad_batch, grad_time, angle_batch, angle_time, scale_batch, scale_time,
    state_batch, decay_batch, decay_time, decay_block, states_batch, states_time,
    LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, n, inside = lanes(blocks, total, LANES)
    grad += b * grad_batch + 2 * n
    angle += b * angle_batch + n
    scale += b * scale_batch + n
    decay += b * decay_batch + n * decay_block
    states += b * states_batch + 2 * n
    p = tl.zeros([LANES], dtype=grad.dtype.element_ty)
    q = tl.zeros([LANES], dtype=grad.dtype.element_ty)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(steps, tl.int64) - 1 - i
        result = (b * steps + t) * blocks + n
        # The state before the first token lies elsewhere: of the two loads, one is off and gives zero.
        first, second = _load_pair(states + (t - 1) * states_time, inside & (t + 0 * b > 0))
        start_first, start_second = _load_pair(state + b * state_batch + 2 * n, inside & (t + 0 * b == 0))
        first, second = first + start_first, second + start_second
        x, y = _load_pair(grad + t * grad_time, inside)
        p, q = p + x, q + y
        _store_pair(grad_drive + 2 * result, p, q, inside)
        sine, cosine = sine_cosine(tl.load(angle + t * angle_time, mask=inside, other=0.0))
        kept = tl.load(decay + t * decay_time, mask=inside, other=0.0)
        flip = tl.load(scale + t * scale_time, mask=inside, other=0.0)
        p, q = cosine * p + sine * q, cosine * q - sine * p
        tl.store(grad_angle + result, kept * (q * first - p * (flip * second)), mask=inside)
        tl.store(grad_scale + result, kept * (q * second), mask=inside)
        tl.store(grad_decay + result, p * first + flip * (q * second), mask=inside)
        p, q = kept * p, kept * (flip * q)
    _store_pair(grad_state + 2 * (b * blocks + n), p, q, inside)


def forward(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    angle, scale, drive, state = packed(angle, 2), packed(scale, 2), packed(drive, 2), packed(state, 1)
    batch, steps, blocks, _ = drive.shape
    states = empty_like(drive)
    strides = *angle.stride()[:2], *scale.stride()[:2], *drive.stride()[:2], state.stride(0), *decay.stride()
    arguments = angle, scale, drive, state, decay, states, steps, blocks, batch * blocks, *strides
    constants = {"LANES": LANES, "STAGES": stages(drive, 5 * LANES)}
    launch(_forward, triton.cdiv(batch * blocks, LANES), arguments, constants)
    return states


def backward(grad: Tensor, angle: Tensor, scale: Tensor, state: Tensor, decay: Tensor, states: Tensor) -> tuple[Tensor, ...]:
    grad, angle, scale, states = (packed(x, 2) for x in (grad, angle, scale, states))
    state = packed(state, 1)
    batch, steps, blocks, _ = grad.shape
    results = [empty_like(x) for x in (angle, scale, grad, state, decay)]
    strides = *grad.stride()[:2], *angle.stride()[:2], *scale.stride()[:2], state.stride(0), *decay.stride()
    strides = *strides, *states.stride()[:2]
    arguments = grad, angle, scale, state, decay, states, *results, steps, blocks, batch * blocks, *strides
    constants = {"LANES": LANES, "STAGES": stages(grad, 9 * LANES)}
    launch(_backward, triton.cdiv(batch * blocks, LANES), arguments, constants)
    return tuple(results)
