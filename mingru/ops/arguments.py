"""What every op checks before its kernel runs: kind, device, dtype and axes of its tensors."""

import torch
from torch import Tensor

WIDE = {torch.float32, torch.float64}
FLOATS = WIDE | {torch.float16, torch.bfloat16}


def checked(op: str, arguments: dict[str, tuple[Tensor | None, str]]) -> list[Tensor]:
    """The tensors in the dtype they are computed in, or a ValueError that names the op and the argument.

    `arguments` maps a name to its tensor and its axes, one letter each, such as "B T N K". A letter stands for one
    size throughout, fixed by the first tensor that has it. None stands for a decay of 1 that keeps everything.
    Half precision becomes float32: a state carried in it would drift.
    """
    given = {name: tensor for name, (tensor, _) in arguments.items() if tensor is not None}
    strange = {name: type(argument).__name__ for name, argument in given.items() if not isinstance(argument, Tensor)}
    if strange:
        raise ValueError(f"{op}: got {strange}, wanted tensors")
    dtype = _dtype(op, given)
    _check_device(op, given)
    sizes = _sizes(op, arguments)
    one = next(iter(given.values())).new_ones((), dtype=dtype) if len(given) < len(arguments) else None
    return [
        one.expand([sizes[axis] for axis in axes.split()]) if tensor is None else tensor.to(dtype) for tensor, axes in arguments.values()
    ]


def _dtype(op: str, given: dict[str, Tensor]) -> torch.dtype:
    dtypes = {tensor.dtype for tensor in given.values()}
    if len(dtypes) == 1 and dtypes <= WIDE:
        return dtypes.pop()
    if dtypes <= FLOATS and torch.float64 not in dtypes:
        return torch.float32
    came = ", ".join(f"{name} {tensor.dtype}" for name, tensor in given.items())
    raise ValueError(f"{op}: got {came}; wanted all of them float64, or each of them float32, bfloat16 or float16")


def _check_device(op: str, given: dict[str, Tensor]) -> None:
    if len({tensor.device for tensor in given.values()}) > 1:
        came = ", ".join(f"{name} on {tensor.device}" for name, tensor in given.items())
        raise ValueError(f"{op}: got {came}; wanted one device")


def _sizes(op: str, arguments: dict[str, tuple[Tensor | None, str]]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    source: dict[str, str] = {}
    for name, (tensor, axes) in arguments.items():
        if tensor is None:
            continue
        shape, letters = tuple(tensor.shape), axes.split()
        if len(shape) != len(letters):
            raise ValueError(f"{op}: {name} has shape {shape}, wanted {len(letters)} axes ({axes})")
        for axis, size in zip(letters, shape, strict=True):
            if size == 0:
                raise ValueError(f"{op}: {name} has shape {shape}, so {axis} = 0; wanted at least 1")
            if size != sizes.setdefault(axis, size):
                wanted = f"{axis} = {sizes[axis]} as in {source[axis]}"
                raise ValueError(f"{op}: {name} has shape {shape}, so {axis} = {size}; wanted {wanted} ({axes})")
            source.setdefault(axis, name)
    return sizes
