"""What a kernel asks of the memory layout of a tensor."""

from torch import Tensor


def packed(tensor: Tensor, leading: int) -> Tensor:
    """The tensor itself if its axes after the `leading` ones lie next to each other, else a copy."""
    expected = 1
    for size, stride in zip(reversed(tensor.shape[leading:]), reversed(tensor.stride()[leading:]), strict=True):
        if size > 1 and stride != expected:
            return tensor.contiguous()
        expected *= size
    return tensor
