"""Values and gradients of every op against its definition in float64 on the same device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from scripts.gpu.arguments import Shape

# Relative to the largest entry of a tensor.
TOLERANCE = {torch.float32: 5e-6, torch.float64: 1e-12}
# A length of one, none that is a power of two, whole tiles and parts of one, one program and many.
SHAPES = (
    Shape("diagonal_scan", 3, 1, (5,)),
    Shape("diagonal_scan", 16, 65, (64,)),
    Shape("diagonal_scan", 2, 1000, (33,)),
    Shape("rotation_scan", 3, 1, (5,)),
    Shape("rotation_scan", 16, 65, (32,)),
    Shape("rotation_scan", 2, 1000, (17,)),
    Shape("givens_scan", 3, 1, (5, 3, 6)),
    Shape("givens_scan", 16, 65, (8, 8, 8)),
    Shape("givens_scan", 2, 300, (5, 3, 6)),
    Shape("block_scan", 3, 1, (5, 3)),
    Shape("block_scan", 16, 65, (8, 16)),
    Shape("block_scan", 2, 1000, (5, 3)),
    Shape("block_scan", 2, 33, (70, 1)),
    Shape("delta_scan", 3, 1, (2, 2, 5, 7)),
    Shape("delta_scan", 16, 65, (1, 4, 16, 16)),
    Shape("delta_scan", 2, 300, (2, 2, 5, 7)),
    Shape("delta_scan", 2, 65, (1, 2, 64, 40)),
    Shape("reflection_scan", 3, 1, (2, 5, 3)),
    Shape("reflection_scan", 16, 65, (4, 8, 8)),
    Shape("reflection_scan", 2, 300, (3, 5, 6)),
    Shape("selection_scan", 3, 1, (5, 3)),
    Shape("selection_scan", 16, 65, (8, 8)),
    Shape("selection_scan", 2, 300, (5, 3)),
    Shape("selection_scan", 16, 65, (8, 8), by_source=False),
    Shape("selection_scan", 2, 33, (70, 3), by_source=False),
)
WIDE_SHAPES = tuple(shape for shape in SHAPES if shape.steps == 65 and shape.sizes[-1] != 40)


@dataclass(frozen=True)
class Outcome:
    """The largest relative error among results and gradients, and what else is wrong: "" if nothing."""

    shape: Shape
    dtype: torch.dtype
    error: float
    fault: str = ""

    @property
    def right(self) -> bool:
        return not self.fault and self.error <= TOLERANCE[self.dtype]

    def __str__(self) -> str:
        where = f"{self.shape} {str(self.dtype).removeprefix('torch.')}"
        found = self.fault or f"relative error {self.error:.1e}, at most {TOLERANCE[self.dtype]:.0e}"
        return f"{'right' if self.right else 'WRONG'}  {where}: {found}"


def outcomes(device: str) -> Iterator[Outcome]:
    for dtype, shapes in ((torch.float32, SHAPES), (torch.float64, WIDE_SHAPES)):
        for shape in shapes:
            yield compare(shape, dtype, device)


def compare(shape: Shape, dtype: torch.dtype, device: str) -> Outcome:
    try:
        arguments = shape.arguments(device, dtype)
        came, again = evaluate(shape.function, arguments), evaluate(shape.function, arguments)
        wanted = evaluate(shape.reference, [argument.detach().double().requires_grad_() for argument in arguments])
        error = max(relative_error(a, b) for a, b in zip(came, wanted, strict=True))
    except Exception as problem:
        # Whatever a compiler or a driver raises: the other kernels may still be right.
        return Outcome(shape, dtype, float("inf"), first_line(problem))
    close = Outcome(shape, dtype, error)
    repeats = all(map(torch.equal, came, again))
    return close if repeats or not close.right else replace(close, fault="a second run gave another result")


def first_line(problem: Exception) -> str:
    return f"{type(problem).__name__}: {(str(problem).splitlines() or [''])[0]}"


def evaluate(function: Callable, arguments: list[Tensor]) -> list[Tensor]:
    """Results, then the gradient of each argument of a loss that weighs every entry differently, neighbours not nearly alike."""
    returned = function(*arguments)
    results = returned if isinstance(returned, tuple) else (returned,)
    weights = [torch.arange(x.numel(), dtype=torch.float64, device=x.device).cos().to(x.dtype).view_as(x) for x in results]
    return [*results, *torch.autograd.grad(results, arguments, weights)]


def relative_error(came: Tensor, wanted: Tensor) -> float:
    """Infinite where a number is missing."""
    error = ((came.double() - wanted).abs().max() / wanted.abs().max().clamp_min(1e-30)).item()
    return float("inf") if math.isnan(error) else error
