"""Triton kernels of the gated delta rule; gpu_kernels.py has them and README.md the derivation."""

import triton
from torch import Tensor

from mingru.ops.delta_scan import CHUNK
from mingru.ops.delta_scan.gpu_kernels import backward_kernel, forward_kernel
from mingru.ops.gpu.kernel import empty_like, launch, stages
from mingru.ops.layout import packed

# Entries of a tile: 32 for each thread of a warp.
TILE = 1024


def _constants(key: Tensor, value: Tensor) -> dict[str, int]:
    micro_steps, rows, columns = key.shape[2], key.shape[4], value.shape[4]
    height = triton.next_power_of_2(rows)
    width = min(triton.next_power_of_2(columns), max(8, TILE // height))
    ahead = stages(key, 2 * height + width + micro_steps * (height * width + 2 * height + width))
    return {
        "J": micro_steps, "K": rows, "V": columns, "ROWS": height, "COLUMNS": width, "CHUNK": CHUNK, "STAGES": ahead,
    }  # fmt: skip


def _warps(constants: dict[str, int]) -> int:
    return max(1, min(8, constants["ROWS"] * constants["COLUMNS"] // TILE))


def forward(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, strength = (packed(x, 2) for x in (query, key, value, strength))
    state = packed(state, 1)
    batch, steps, heads, _ = query.shape
    constants = _constants(key, value)
    tiles = triton.cdiv(constants["V"], constants["COLUMNS"])
    outputs = state.new_empty(batch, steps, heads, constants["V"])
    final = empty_like(state)
    kept = state.new_empty(batch, triton.cdiv(steps, CHUNK), *state.shape[1:])
    strides = [stride for x in (query, key, value, strength) for stride in x.stride()[:2]]
    arguments = query, key, value, strength, state, decay, outputs, final, kept, steps, heads, tiles
    arguments = *arguments, *strides, state.stride(0), *decay.stride()
    launch(forward_kernel, batch * heads * tiles, arguments, constants, _warps(constants))
    return outputs, final, kept


def backward(
    grad_outputs: Tensor, grad_final: Tensor,
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, decay: Tensor, kept: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    grad_outputs, query, key, value, strength, kept = (packed(x, 2) for x in (grad_outputs, query, key, value, strength, kept))
    grad_final = packed(grad_final, 1)
    batch, steps, heads, _ = query.shape
    constants = _constants(key, value)
    tiles = triton.cdiv(constants["V"], constants["COLUMNS"])
    programs = batch * heads * tiles
    grad_query, grad_key, grad_strength, grad_decay = (x.new_empty(tiles, *x.shape) for x in (query, key, strength, decay))
    grad_value, grad_state = value.new_empty(value.shape), grad_final.new_empty(grad_final.shape)
    size = constants["ROWS"] * constants["COLUMNS"]
    scratch = key.new_empty(programs, CHUNK * constants["J"], size)
    strides = [stride for x in (query, key, value, strength) for stride in x.stride()[:2]]
    arguments = grad_outputs, grad_final, query, key, value, strength, decay, kept
    arguments = *arguments, grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay, scratch
    arguments = *arguments, batch, steps, heads, tiles, *grad_outputs.stride()[:2], grad_final.stride(0), *strides
    arguments = *arguments, *decay.stride(), *kept.stride()[:2]
    launch(backward_kernel, programs, arguments, constants, _warps(constants))
    grad_query, grad_key, grad_strength, grad_decay = (
        x[0] if tiles == 1 else x.sum(0) for x in (grad_query, grad_key, grad_strength, grad_decay)
    )
    return grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay
