"""A swinging pendulum, seen through noise at uneven times."""

import functools
import math

import torch
from torch import Generator, Tensor

from tasks.base import Batch, check_at_least, check_request, mse, scored_mean, vectors
from tasks.compiled import compiled
from tasks.stream import generator as stream

NOISE = 0.05
# Runge-Kutta steps per gap.
SUBSTEPS = 20
# Sequences that the floors are estimated from.
COUNTED = 512


class Pendulum:
    """Noisy (sin, cos) of the angle of a frictionless pendulum; the target is (sin, cos) without the noise, at every position.

        theta'' = -9.81 sin theta,   theta and theta' at first uniform on (-1, 1)

    Gaps are uniform on (0.05, 0.3), the first one 0; the noise is normal with standard deviation 0.05. No answer is determined: `oracle`
    copies the input, an error of 0.0025.

    theta  0.5:  x such as (0.51, 0.86)    y (0.479, 0.878)
    theta -0.1:  x such as (-0.03, 1.04)   y (-0.100, 0.995)

    Source: the minGRU ladder's pendulum: classical Runge-Kutta with 20 steps per gap, squared error averaged over elements.
    """

    head = "per_position"
    prefix_closed = True
    timed = True

    def __init__(self, name: str, bar: float = 0.0014) -> None:
        self.name = name
        self.inputs, self.targets, self.metric = vectors(2), vectors(2), mse(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        start = 2 * torch.rand(2, batch, generator=generator, dtype=torch.float64) - 1
        gaps = uneven(torch.rand(batch, length, generator=generator, dtype=torch.float64))
        targets = swung(start, gaps).float()
        return Batch(targets + NOISE * torch.randn(targets.shape, generator=generator), targets, gaps.float())

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    def constant(self, length: int) -> float:
        self.check_length(length)
        return _floors(self.name, length)[1]

    def position_chance(self, length: int) -> Tensor:
        """The variance of the target, estimated from 512 sequences."""
        self.check_length(length)
        return _floors(self.name, length)[0].clone()

    def oracle(self, batch: Batch) -> Tensor:
        return batch.inputs


def uneven(uniform: Tensor) -> Tensor:
    """Gaps from numbers in (0, 1)."""
    gaps = 0.05 + 0.25 * uniform
    gaps[:, 0] = 0
    return gaps


def swung(start: Tensor, gaps: Tensor) -> Tensor:
    """(sin, cos) of the angle after each gap, from angles and speeds (2, B): (B, T, 2)."""
    angles = torch.empty(gaps.shape, dtype=torch.float64)
    _swing(start[0].numpy(), start[1].numpy(), gaps.numpy(), SUBSTEPS, angles.numpy())
    return torch.stack([angles.sin(), angles.cos()], 2)


@functools.cache
def _floors(name: str, length: int) -> tuple[Tensor, float]:
    """The variance of the target at each position, and over all of them; a longer sequence goes on from the same beginning."""
    numbers = stream(name, "floors")
    start = 2 * torch.rand(2, COUNTED, generator=numbers, dtype=torch.float64) - 1
    targets = swung(start, uneven(torch.rand(length, COUNTED, generator=numbers, dtype=torch.float64).T.contiguous()))
    return targets.var(0, unbiased=False).mean(1), targets.flatten(0, 1).var(0, unbiased=False).mean().item()


@compiled
def _swing(angle, speed, gaps, substeps, angles):  # type: ignore[no-untyped-def]
    """Angles after each gap, by classical Runge-Kutta steps."""
    for b in range(len(gaps)):
        x, v = angle[b], speed[b]
        for t in range(gaps.shape[1]):
            h = gaps[b, t] / substeps
            for _ in range(substeps if h > 0 else 0):
                a1 = -9.81 * math.sin(x)
                v2 = v + h / 2 * a1
                a2 = -9.81 * math.sin(x + h / 2 * v)
                v3 = v + h / 2 * a2
                a3 = -9.81 * math.sin(x + h / 2 * v2)
                v4 = v + h * a3
                a4 = -9.81 * math.sin(x + h * v3)
                x += h / 6 * (v + 2 * v2 + 2 * v3 + v4)
                v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            angles[b, t] = x
