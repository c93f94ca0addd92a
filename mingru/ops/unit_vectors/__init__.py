"""Vectors brought to length 1, as the keys of the delta rule want it: not a recurrence, but one pass where torch takes ten."""

import torch
from torch import Tensor

from mingru.ops.arguments import checked
from mingru.ops.folding import fold_into_batch
from mingru.ops.unit_vectors import reference

__all__ = ["unit_vectors"]


def unit_vectors(vectors: Tensor) -> Tensor:
    """vectors / max(|vectors|, 1e-12) along the last axis of (B, T, N, K): what `torch.nn.functional.normalize` gives.

    Half precision is computed and returned in float32. Raises ValueError for wrong shapes or dtypes.
    """
    (vectors,) = checked("unit_vectors", {"vectors": (vectors, "B T N K")})
    return _unit(vectors)


@torch.library.custom_op("mingru::unit_vectors", mutates_args=())
def _unit(vectors: Tensor) -> Tensor:
    return reference.unit_vectors(vectors)


@torch.library.custom_op("mingru::unit_vectors_backward", mutates_args=())
def _unit_backward(grad: Tensor, vectors: Tensor) -> Tensor:
    _, pull_back = torch.func.vjp(reference.unit_vectors, vectors)
    return pull_back(grad)[0].contiguous()


@_unit.register_kernel("cpu")
def _(vectors):
    from mingru.ops.unit_vectors import cpu

    return cpu.forward(vectors)


@_unit_backward.register_kernel("cpu")
def _(grad, vectors):
    from mingru.ops.unit_vectors import cpu

    return cpu.backward(grad, vectors)


@_unit.register_fake
def _(vectors):
    return vectors.new_empty(vectors.shape)


@_unit_backward.register_fake
def _(grad, vectors):
    return vectors.new_empty(vectors.shape)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _differentiate(ctx, grad):
    return _unit_backward(grad, *ctx.saved_tensors)


_unit.register_autograd(_differentiate, setup_context=_save)
fold_into_batch(_unit)
fold_into_batch(_unit_backward)
