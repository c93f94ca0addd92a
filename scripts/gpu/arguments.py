"""Arguments of an op on a device, laid out as a mixer makes them: slices of one fused projection."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

OPS = ("diagonal_scan", "rotation_scan", "givens_scan", "block_scan", "delta_scan", "reflection_scan", "selection_scan")


@dataclass(frozen=True)
class Shape:
    """An op, its batch and length, and its sizes: D | N | N, R, K | N, M | J, H, K, V | J, N, K | N, M.

    `by_source` is selection_scan's.
    """

    op: str
    batch: int
    steps: int
    sizes: tuple[int, ...]
    by_source: bool = True

    def __str__(self) -> str:
        by_place = "" if self.by_source else " by place"
        return f"{self.op} B={self.batch} T={self.steps} {'x'.join(map(str, self.sizes))}{by_place}"

    @property
    def function(self) -> Callable:
        return self._of(f"mingru.ops.{self.op}")

    @property
    def reference(self) -> Callable:
        return self._of(f"mingru.ops.{self.op}.reference")

    def _of(self, module: str) -> Callable:
        function = getattr(importlib.import_module(module), self.op)
        if self.op != "selection_scan":
            return function
        return lambda *tensors: function(*tensors, by_source=self.by_source)

    def arguments(self, device: str, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        """In the order of the reference, decay last where the op has one; the same numbers for any call."""
        torch.manual_seed(0)
        drawn = _DRAW[self.op](Draw(device, dtype), self.batch, self.steps, *self.sizes)
        return [argument.detach().requires_grad_() for argument in drawn]


@dataclass(frozen=True)
class Draw:
    device: str
    dtype: torch.dtype

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, device=self.device, dtype=self.dtype)

    def fused(self, batch: int, steps: int, *heads: tuple[int, ...]) -> list[Tensor]:
        """Heads of one projection, each a view of it with the given axes after batch and time."""
        widths = [math.prod(head) for head in heads]
        parts = self.normal(batch, steps, sum(widths)).split(widths, dim=-1)
        return [part.unflatten(-1, head) for part, head in zip(parts, heads, strict=True)]


def _diagonal(draw, batch, steps, d):
    decay, drive = draw.fused(batch, steps, (d,), (d,))
    return decay.tanh(), drive, draw.normal(batch, d)


def _rotation(draw, batch, steps, n):
    angle, scale, drive, decay = draw.fused(batch, steps, (n,), (n,), (n, 2), (n,))
    return angle, scale.tanh(), drive, draw.normal(batch, n, 2), 1 - 0.2 * decay.sigmoid()


def _givens(draw, batch, steps, n, rounds, k):
    angle, drive, decay = draw.fused(batch, steps, (n, rounds, k // 2), (n, k), (n,))
    return angle, drive, draw.normal(batch, n, k), 1 - 0.2 * decay.sigmoid()


def _block(draw, batch, steps, n, m):
    """Matrices small enough for a product of many to stay bounded."""
    transition, drive, decay = draw.fused(batch, steps, (n, m, m), (n, m), (n,))
    return 0.4 / math.sqrt(m) * transition, drive, draw.normal(batch, n, m), 1 - 0.2 * decay.sigmoid()


def _delta(draw, batch, steps, j, h, k, v):
    query, key, value, strength, decay = draw.fused(batch, steps, (h, k), (j, h, k), (j, h, v), (j, h), (h,))
    key, strength = functional.normalize(key, dim=-1), 2 * strength.sigmoid()
    return query, key, value, strength, draw.normal(batch, h, k, v), 1 - 0.2 * decay.sigmoid()


def _reflection(draw, batch, steps, j, n, k):
    key, strength, drive, decay = draw.fused(batch, steps, (j, n, k), (j, n), (n, k), (n,))
    key, strength = functional.normalize(key, dim=-1), 2 * strength.sigmoid()
    return key, strength, drive, draw.normal(batch, n, k), 1 - 0.2 * decay.sigmoid()


def _selection(draw, batch, steps, n, m):
    logits, drive, decay = draw.fused(batch, steps, (n, m, m), (n, m), (n,))
    return logits, drive, draw.normal(batch, n, m), 1 - 0.2 * decay.sigmoid()


_DRAW = dict(zip(OPS, (_diagonal, _rotation, _givens, _block, _delta, _reflection, _selection), strict=True))
