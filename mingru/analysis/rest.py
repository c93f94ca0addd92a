"""What the rest of a network answers in each state after each input of its last layer, and how far a state may be off before that changes.

After the last layer a network is a function of that layer's input and state, so that for a finite set of both everything it can ever say
is known from one look at each pair.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mingru.stack import Stack

VALUES_AT_ONCE = 2**22
# The steepest slope of the exact GELU, at sqrt 2.
GELU_SLOPE = 1.1290
# Times the largest difference that was seen between logits in float32 and in float64.
ALLOWANCE = 10


@dataclass(frozen=True)
class Answers:
    """Over all pairs of token and state: how many there are, how many answers are wrong, and the smallest gap from the right logit to the
    next (negative where one is wrong).
    """

    pairs: int
    wrong: int
    margin: float

    @property
    def right(self) -> bool:
        """Whether none is wrong, and a gap is left where rounding was allowed for."""
        return self.wrong == 0 and self.margin > 0


def logits(stack: Stack, given: Tensor, states: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """For some inputs of the last block at a time, of `given` (n, D), logits (some, m, C) with each of m states after it; and what goes
    into the last norm and into the MLP's. `states` are (m, D), the same after each input, or (n, m, D).
    """
    weight, block = stack.head.weight, stack.blocks[-1]
    states = states.to(weight).expand(len(given), *states.shape[-2:])
    some = max(1, VALUES_AT_ONCE // (max(len(weight), 4 * states.shape[2]) * states.shape[1]))
    for x, after in zip(given.to(weight).split(some), states.split(some), strict=True):
        before = after if block.norm is None else x.unsqueeze(1) + after
        yield *read_out(stack, before), before


def read_out(stack: Stack, before: Tensor) -> tuple[Tensor, Tensor]:
    """The logits, from what the last layer adds its state to, (..., D) with the state; and what goes into the last norm."""
    block = stack.blocks[-1]
    after = before if block.mlp is None else before + block.mlp(block.mlp_norm(before))
    return stack.head(stack.norm(after)), after


def gaps(found: Tensor, targets: Tensor) -> Tensor:
    """(x, n, C): how far the right logit of each state is above each other one; infinite at the right one itself."""
    index = targets.expand(len(found), -1).unsqueeze(-1)
    return (found.gather(-1, index) - found).scatter(-1, index, math.inf)


@torch.no_grad()
def answers(stack: Stack, given: Tensor, states: Tensor, targets: Tensor) -> Answers:
    """What the network answers in states (m, D) or (n, m, D), where targets[g] is the right class, after each input of `given` (n, D)."""
    exact = copy.deepcopy(stack).double()
    smallest = torch.cat([gaps(found, targets).amin(-1) for found, _, _ in logits(exact, given, states)])
    return Answers(smallest.numel(), int((smallest <= 0).sum()), float(smallest.min()))


@torch.no_grad()
def safe_radius(stack: Stack, given: Tensor, states: Tensor, targets: Tensor) -> float:
    """A distance by which any state may be off, in any direction, without any answer changing: proved, from Lipschitz bounds.

    docs/hardening.md derives it. Zero where an answer is wrong. Rounding in the rest of the network, which no state carries on, is allowed
    for with ten times the largest difference between its logits in float32 and float64.
    """
    exact = copy.deepcopy(stack).double()
    rounded = copy.deepcopy(stack).float()
    both = zip(logits(exact, given, states), logits(rounded, given, states), strict=True)
    allowance = ALLOWANCE * max(float((one[0] - other[0]).abs().max()) for one, other in both)
    read = exact.head.weight * (exact.norm.weight if isinstance(exact.norm, nn.LayerNorm) else 1)
    apart = torch.cdist(read[targets], read).clamp(min=torch.finfo(torch.float64).tiny)
    parts = [
        (((gaps(found, targets) - allowance) / apart).amin(-1), spread(before), spread(after))
        for found, after, before in logits(exact, given, states)
    ]
    room, before, after = (torch.cat(part) for part in zip(*parts, strict=True))
    return largest_radius(lambda radius: bool((bound(exact, radius, before, after) < room).all()), float(states.norm(dim=-1).max()))


def spread(x: Tensor) -> Tensor:
    """The length of x about the mean of its entries, which is what a LayerNorm divides by, times sqrt D."""
    return (x - x.mean(-1, keepdim=True)).norm(dim=-1)


def bound(stack: Stack, radius: float, before: Tensor, after: Tensor) -> Tensor:
    """How far what the head reads, without the last norm's weight, can be moved by a state that is off by `radius`."""
    block = stack.blocks[0]
    moved = torch.full_like(before, radius)
    if block.mlp is not None:
        first, second = block.mlp[0].weight * block.mlp_norm.weight, block.mlp[2].weight
        slope = float(torch.linalg.matrix_norm(first, ord=2) * torch.linalg.matrix_norm(second, ord=2)) * GELU_SLOPE
        moved = radius + slope * normed(block.mlp_norm, radius, before)
    return normed(stack.norm, moved, after) if isinstance(stack.norm, nn.LayerNorm) else moved


def normed(norm: nn.LayerNorm, moved: Tensor | float, spread: Tensor) -> Tensor:
    """How far x / sqrt(var + eps) moves with x: at most by one over the smallest divisor on the way."""
    width = norm.normalized_shape[0]
    return moved / ((spread - moved).clamp(min=0).square() / width + norm.eps).sqrt()


def largest_radius(holds: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    if not holds(0.0):
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
