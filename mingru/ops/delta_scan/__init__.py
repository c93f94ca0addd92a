"""A matrix state per head, corrected one key at a time: H <- (I - s k k^T) H + s k v^T."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.delta_scan import reference
from mingru.ops.folding import fold_into_batch
from mingru.ops.gpu.registration import register_on_gpu

__all__ = ["delta_scan"]

# Tokens between two states that the forward pass keeps: few enough for those in between to stay in a cache.
CHUNK = 16


def delta_scan(
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Outputs (B, T, H, V) and the final state (B, H, K, V) of the gated delta rule with J micro-steps a token.

    Each token first scales H by decay[t], then takes its micro-steps in order, H <- H + s k (v - H^T k)^T, and reads
    H^T q. query is (B, T, H, K), key (B, T, J, H, K) with unit norm, value (B, T, J, H, V), strength s (B, T, J, H) in
    (0, 2), the initial state (B, H, K, V), decay (B, T, H) or None for 1. The norm of a key is the caller's to keep:
    with |k| = 1 the state stays bounded.
    Half precision is computed and returned in float32. Raises ValueError for wrong shapes, dtypes or devices.
    """
    query, key, value, strength, state, decay = checked(
        "delta_scan",
        {
            "query": (query, "B T H K"),
            "key": (key, "B T J H K"),
            "value": (value, "B T J H V"),
            "strength": (strength, "B T J H"),
            "state": (state, "B H K V"),
            "decay": (decay, "B T H"),
        },
    )
    outputs, final, _ = _scan(query, key, value, strength, state, decay)
    return outputs, final


@torch.library.custom_op("mingru::delta_scan", mutates_args=())
def _scan(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, the final state, and the states before every CHUNK-th token, from which the backward pass starts."""
    kept, outputs = [], []
    for part in zip(*(x.split(CHUNK, dim=1) for x in (query, key, value, strength, decay)), strict=True):
        kept.append(state)
        output, state = reference.delta_scan(*part[:4], state, part[4])
        outputs.append(output)
    return torch.cat(outputs, dim=1), state, torch.stack(kept, dim=1)


@torch.library.custom_op("mingru::delta_scan_backward", mutates_args=())
def _scan_backward(
    grad_outputs: Tensor,
    grad_final: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    strength: Tensor,
    decay: Tensor,
    kept: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    grads = []
    parts = zip(*(x.split(CHUNK, dim=1) for x in (grad_outputs, query, key, value, strength, decay)), strict=True)
    for chunk, (grad, *inputs, scale) in reversed(list(enumerate(parts))):
        _, pull_back = torch.func.vjp(reference.delta_scan, *inputs, kept[:, chunk], scale)
        *of_inputs, grad_final, of_scale = pull_back((grad, grad_final))
        grads.append((*of_inputs, of_scale))
    *of_inputs, of_decay = (torch.cat(part, dim=1) for part in zip(*reversed(grads), strict=True))
    return *of_inputs, grad_final, of_decay


@_scan.register_kernel("cpu")
def _(query, key, value, strength, state, decay):
    from mingru.ops.delta_scan import cpu

    return cpu.forward(query, key, value, strength, state, decay)


@_scan_backward.register_kernel("cpu")
def _(grad_outputs, grad_final, query, key, value, strength, decay, kept):
    from mingru.ops.delta_scan import cpu

    return cpu.backward(grad_outputs, grad_final, query, key, value, strength, decay, kept)


@_scan.register_fake
def _(query, key, value, strength, state, decay):
    batch, steps, heads, _ = query.shape
    chunks = (steps + CHUNK - 1) // CHUNK
    kept = state.new_empty(batch, chunks, *state.shape[1:])
    return state.new_empty(batch, steps, heads, value.shape[-1]), state.new_empty(state.shape), kept


@_scan_backward.register_fake
def _(grad_outputs, grad_final, query, key, value, strength, decay, kept):
    return tuple(x.new_empty(x.shape) for x in (query, key, value, strength, grad_final, decay))


def _save(ctx, inputs, output):
    query, key, value, strength, _, decay = inputs
    kept = output[2]
    ctx.mark_non_differentiable(kept)
    ctx.save_for_backward(query, key, value, strength, decay, kept)


def _differentiate(ctx, grad_outputs, grad_final, _):
    return _scan_backward(grad_outputs, grad_final, *ctx.saved_tensors)


_scan.register_autograd(_differentiate, setup_context=_save)
register_on_gpu(_scan, _scan_backward, __name__)
fold_into_batch(_scan)
fold_into_batch(_scan_backward)
