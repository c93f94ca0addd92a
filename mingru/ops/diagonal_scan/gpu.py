"""One pass over t for LANES channels side by side."""

import triton
import triton.language as tl
from torch import Tensor

from mingru.ops.gpu.kernel import empty_like, lanes, launch, stages
from mingru.ops.layout import packed

LANES = 32


@triton.jit
def _forward(
    decay, drive, state, states,
    steps, width, total, decay_batch, decay_time, drive_batch, drive_time, state_batch,
    LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, d, inside = lanes(width, total, LANES)
    decay += b * decay_batch + d
    drive += b * drive_batch + d
    states += b * steps * width + d
    h = tl.load(state + b * state_batch + d, mask=inside, other=0.0)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        h = tl.load(decay + t * decay_time, mask=inside, other=0.0) * h
        h += tl.load(drive + t * drive_time, mask=inside, other=0.0)
        tl.store(states + t * width, h, mask=inside)


@triton.jit
def _backward(
    grad, decay, state, states, grad_decay, grad_drive, grad_state,
    steps, width, total, grad_batch, grad_time, decay_batch, decay_time, state_batch, states_batch, states_time,
    LANES: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, d, inside = lanes(width, total, LANES)
    grad += b * grad_batch + d
    decay += b * decay_batch + d
    states += b * states_batch + d
    grad_decay += b * steps * width + d
    grad_drive += b * steps * width + d
    carried = tl.zeros([LANES], dtype=grad.dtype.element_ty)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(steps, tl.int64) - 1 - i
        # The state before the first token lies elsewhere: of the two loads, one is off and gives zero.
        previous = tl.load(states + (t - 1) * states_time, mask=inside & (t + 0 * b > 0), other=0.0)
        previous += tl.load(state + b * state_batch + d, mask=inside & (t + 0 * b == 0), other=0.0)
        carried += tl.load(grad + t * grad_time, mask=inside, other=0.0)
        tl.store(grad_drive + t * width, carried, mask=inside)
        tl.store(grad_decay + t * width, carried * previous, mask=inside)
        carried *= tl.load(decay + t * decay_time, mask=inside, other=0.0)
    tl.store(grad_state + b * width + d, carried, mask=inside)


def forward(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    decay, drive, state = packed(decay, 2), packed(drive, 2), packed(state, 1)
    batch, steps, width = drive.shape
    states = empty_like(drive)
    strides = *decay.stride()[:2], *drive.stride()[:2], state.stride(0)
    sizes = steps, width, batch * width
    constants = {"LANES": LANES, "STAGES": stages(drive, 2 * LANES)}
    launch(_forward, triton.cdiv(batch * width, LANES), (decay, drive, state, states, *sizes, *strides), constants)
    return states


def backward(grad: Tensor, decay: Tensor, state: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    grad, decay, state, states = packed(grad, 2), packed(decay, 2), packed(state, 1), packed(states, 2)
    batch, steps, width = grad.shape
    results = [empty_like(x) for x in (decay, grad, state)]
    strides = *grad.stride()[:2], *decay.stride()[:2], state.stride(0), *states.stride()[:2]
    arguments = grad, decay, state, states, *results, steps, width, batch * width, *strides
    constants = {"LANES": LANES, "STAGES": stages(grad, 4 * LANES)}
    launch(_backward, triton.cdiv(batch * width, LANES), arguments, constants)
    return tuple(results)
