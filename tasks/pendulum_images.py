"""A pendulum filmed through noise, with frames missing."""

import functools
import math

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.base import Batch, check_at_least, check_request, mse, scored_mean, vectors
from tasks.compiled import compiled
from tasks.stream import generator as stream

SIDE = 24
# Pictures per turn: a frame shows the nearest one.
PICTURES = 1024
# Euler steps per frame, and their length in seconds.
SUBSTEPS, STEP = 100, 1e-4
# The frames at the start that are shown without noise.
CLEAN = 5
# Films that the floors are estimated from.
COUNTED = 256


class PendulumImages:
    """Frames of 24 x 24 pixels in [0, 1], half of those filmed; the target is (sin, cos) of the angle in each of them.

        theta'' = 29.43 sin theta - friction * theta',   theta at first uniform on (0, 2 pi), at rest

    A film of T frames is T drawn without replacement from 2T, one every 0.01 s; `delta_t` is the gap in frames, and 1 before the first.
    The speed gets normal noise of standard deviation 0.1 at every frame. A pixel is f * picture + (1 - f) * uniform noise, where f
    wanders: f' starts uniform on (0, 1) and moves by up to 0.2 per frame, clipped to [0, 1]; f = clip((f' - low) / (high - low)), with low
    uniform on (0, 0.25) and high on (0.75, 1) for each film; in the first 5 frames filmed f = 1. No answer is determined where f is 0:
    `oracle` turns to the nearest picture.

    theta 0:       a bar from the centre upwards       y (0, 1)
    theta pi / 2:  a bar from the centre to the right  y (1, 0)

    Source: the pendulum of Becker et al. 2019 and CRU, Schirmer et al. 2022, arXiv:2111.11344, from their description: Euler steps of
    0.1 ms. Pictures are averaged over 5 x 5 points per pixel instead of resized, and turn in steps of 1/1024.
    """

    head = "per_position"
    timed = True

    def __init__(self, name: str, friction: float = 0.1, bar: float = 0.005) -> None:
        self.name, self.friction = name, friction
        self.inputs, self.targets, self.metric = vectors(SIDE * SIDE), vectors(2), mse(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        angles, kept = self._filmed(generator, batch, length)
        clear = self._clearness(generator, batch, 2 * length).gather(1, kept)[..., None]
        turns = (angles * (PICTURES / (2 * math.pi))).round().long() % PICTURES
        noise = torch.rand(batch, length, SIDE * SIDE, generator=generator)
        inputs = clear * pictures()[turns] + (1 - clear) * noise
        targets = torch.stack([angles.sin(), angles.cos()], 2).float()
        return Batch(inputs, targets, kept.diff(dim=1, prepend=kept[:, :1] - 1).float())

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    def constant(self, length: int) -> float:
        self.check_length(length)
        return _floors(self.name, self.friction, length)[1]

    def position_chance(self, length: int) -> Tensor:
        """The variance of the target, estimated from 256 films."""
        self.check_length(length)
        return _floors(self.name, self.friction, length)[0].clone()

    def oracle(self, batch: Batch) -> Tensor:
        """The angle of the picture that fits best, which in a frame of nothing but noise is any."""
        overlap = batch.inputs @ (pictures() - pictures().mean(1, keepdim=True)).T
        turns = overlap.argmax(-1) * (2 * math.pi / PICTURES)
        return torch.stack([turns.sin(), turns.cos()], -1)

    def _filmed(self, generator: Generator, batch: int, length: int) -> tuple[Tensor, Tensor]:
        """Angles of the frames kept, and their numbers."""
        start = 2 * math.pi * torch.rand(batch, generator=generator, dtype=torch.float64)
        kicks = 0.1 * torch.randn(batch, 2 * length, generator=generator, dtype=torch.float64)
        kept = torch.rand(batch, 2 * length, generator=generator).topk(length).indices.sort(1).values
        angles = torch.empty_like(kicks)
        _fall(start.numpy(), kicks.numpy(), self.friction, angles.numpy())
        return angles.gather(1, kept), kept

    def _clearness(self, generator: Generator, batch: int, frames: int) -> Tensor:
        wander = torch.rand(batch, frames, generator=generator)
        wander[:, 1:] = 0.4 * wander[:, 1:] - 0.2
        low, high = (torch.rand(2, batch, 1, generator=generator) / 4 + torch.tensor([0, 0.75])[:, None, None]).unbind()
        _wander(wander.numpy())
        clear = ((wander - low) / (high - low)).clamp(0, 1)
        clear[:, :CLEAN] = 1
        return clear


@functools.cache
def _floors(name: str, friction: float, length: int) -> tuple[Tensor, float]:
    """The variance of the target at each position, and over all of them."""
    angles, _ = PendulumImages(name, friction)._filmed(stream(name, "floors"), COUNTED, length)
    targets = torch.stack([angles.sin(), angles.cos()], 2)
    return targets.var(0, unbiased=False).mean(1), targets.flatten(0, 1).var(0, unbiased=False).mean().item()


@functools.cache
def pictures() -> Tensor:
    """A bar of length 55 and width 8 from the centre of a square of 128, at every angle: (pictures, pixels); 0 is up, a quarter right."""
    points = (np.arange(5 * SIDE) + 0.5) * 128 / (5 * SIDE) - 64
    x, y = points[None, :], -points[:, None]
    shown = []
    for turn in np.arange(PICTURES) * (2 * math.pi / PICTURES):
        along, across = x * math.sin(turn) + y * math.cos(turn), x * math.cos(turn) - y * math.sin(turn)
        bar = (along >= 0) & (along <= 55) & (np.abs(across) <= 4)
        shown.append(bar.reshape(SIDE, 5, SIDE, 5).mean((1, 3)).ravel())
    return torch.from_numpy(np.stack(shown)).float()


@compiled
def _fall(start, kicks, friction, angles):  # type: ignore[no-untyped-def]
    """Angles in every frame, by Euler steps."""
    for b in range(len(kicks)):
        x, v = start[b], 0.0
        for t in range(kicks.shape[1]):
            for _ in range(SUBSTEPS if t > 0 else 0):
                x, v = x + STEP * v, v + STEP * (29.43 * math.sin(x) - friction * v)
            angles[b, t] = x
            v += kicks[b, t]


@compiled
def _wander(values):  # type: ignore[no-untyped-def]
    """Running sums that stop at 0 and 1, in place."""
    for row in values:
        for t in range(1, len(row)):
            row[t] = min(max(row[t - 1] + row[t], 0.0), 1.0)
