"""vmap for ops whose tensors all start with the batch axis: the mapped axis becomes part of the batch."""

from typing import Any

from torch import Tensor
from torch.library import CustomOpDef


def fold_into_batch(op: CustomOpDef) -> None:
    """Register the vmap rule of `op`; every result of it must be a tensor with a batch axis, and every argument that is a tensor."""

    def rule(info, in_dims, *arguments):
        folded = [_fold(argument, dim, info.batch_size) for argument, dim in zip(arguments, in_dims, strict=True)]
        result = op(*folded)
        if isinstance(result, Tensor):
            return result.unflatten(0, (info.batch_size, -1)), 0
        return tuple(part.unflatten(0, (info.batch_size, -1)) for part in result), (0,) * len(result)

    op.register_vmap(rule)


def _fold(tensor: Any, dim: int | None, size: int) -> Any:
    if not isinstance(tensor, Tensor):
        return tensor
    mapped = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return mapped.flatten(0, 1)
