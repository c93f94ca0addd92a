"""What the Triton kernels share.

A lane is one channel or block of one batch entry. A program holds the states of some lanes in registers and walks over
t; what the next tokens need is on its way while one is computed (`num_stages` of the loop). Every result is written by
one program and every sum has a fixed order, so a run repeats bit by bit.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# Bytes that a program should have on their way: enough to hide a load, few enough for many programs on a processor.
IN_FLIGHT = 24_576
# Bytes a token of which one is still loaded ahead: two of them fit the shared memory of any processor.
LARGEST = 40_960


def empty_like(tensor: Tensor) -> Tensor:
    """Packed memory of the tensor's shape."""
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def stages(like: Tensor, numbers: int) -> int:
    """Tokens on their way or being computed if a program reads so many numbers for each; with 1, none is loaded ahead."""
    size = numbers * like.element_size()
    return max(2 if size <= LARGEST else 1, min(6, IN_FLIGHT // size))


def launch(kernel, programs: int, arguments: tuple, constants: dict[str, int], warps: int = 1) -> None:
    """Start `programs` programs on the device of the first argument."""
    with torch.cuda.device_of(arguments[0]):
        kernel[(programs,)](*arguments, **constants, num_warps=warps, enable_fp_fusion=True)


@triton.jit
def lanes(blocks, total, LANES: tl.constexpr):
    """Batch entry and block of each lane of this program, and whether there is such a lane."""
    lane = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    return lane // blocks, lane % blocks, lane < total
