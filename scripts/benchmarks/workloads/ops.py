"""This project's ops alone, on coefficients as a freshly built mixer makes them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from scripts.benchmarks.workloads import passes

# Projections of a fresh mixer on normalised inputs have about this standard deviation.
SPREAD = 0.58
BLOCK, ROUNDS, HOUSEHOLDERS, KEYS, REFLECTIONS = 8, 3, 2, 16, 4
STATE = {"delta_scan": 1024}


def op(name: str, batch: int, length: int, state: int | None = None) -> passes.Work:
    """Forward and backward of an op whose state has `state` elements per sequence; its mixer's own number when None."""
    return passes.op(first_result(kernel(name)), INPUTS[name](batch, length, state or STATE.get(name, passes.WIDTH)))


def loop(name: str, batch: int, length: int) -> passes.Work:
    """The same by the op's definition, a plain loop over t, through autograd."""
    arguments = INPUTS[name](batch, length, STATE.get(name, passes.WIDTH))
    decay = () if name == "diagonal_scan" else (torch.ones(decay_shape(name, arguments)),)
    # What the op has by default its definition wants to be told.
    by_source = (True,) if name == "selection_scan" else ()
    definition = getattr(importlib.import_module(f"mingru.ops.{name}.reference"), name)
    return passes.op(lambda *given: first_result(definition)(*given, *decay, *by_source), arguments)


def kernel(name: str) -> Callable:
    return getattr(importlib.import_module(f"mingru.ops.{name}"), name)


def first_result(function: Callable) -> Callable[..., Tensor]:
    """The states, or the outputs where the op also gives its last state."""

    def first(*arguments: Tensor) -> Tensor:
        result = function(*arguments)
        return result if isinstance(result, Tensor) else result[0]

    return first


def decay_shape(name: str, arguments: list[Tensor]) -> tuple[int, ...]:
    """One number per token and per block or head."""
    per_token = arguments[0] if name == "delta_scan" else arguments[-2]
    return tuple(per_token.shape[:3])


def normal(*shape: int) -> Tensor:
    return SPREAD * torch.randn(shape)


def diagonal(batch: int, length: int, state: int) -> list[Tensor]:
    return [normal(batch, length, state).tanh(), normal(batch, length, state), torch.zeros(batch, state)]


def rotation(batch: int, length: int, state: int) -> list[Tensor]:
    n = state // 2
    return [normal(batch, length, n), normal(batch, length, n).tanh(), normal(batch, length, n, 2), normal(batch, n, 2)]


def givens(batch: int, length: int, state: int) -> list[Tensor]:
    n = state // BLOCK
    return [normal(batch, length, n, ROUNDS, BLOCK // 2), normal(batch, length, n, BLOCK), normal(batch, n, BLOCK)]


def block(batch: int, length: int, state: int) -> list[Tensor]:
    """An orthogonal matrix times 0.9, so that no state overflows or dies out."""
    n = state // BLOCK
    transition = 0.9 * torch.linalg.qr(torch.randn(n, BLOCK, BLOCK))[0]
    return [transition.repeat(batch, length, 1, 1, 1), normal(batch, length, n, BLOCK), normal(batch, n, BLOCK)]


def delta(batch: int, length: int, state: int) -> list[Tensor]:
    """Heads of 16x16, or one smaller head where the state is smaller."""
    heads, width = max(1, state // KEYS**2), min(KEYS, math.isqrt(state))
    key = functional.normalize(torch.randn(batch, length, HOUSEHOLDERS, heads, width), dim=-1)
    value = normal(batch, length, HOUSEHOLDERS, heads, width)
    strength = 2 * normal(batch, length, HOUSEHOLDERS, heads).sigmoid()
    return [normal(batch, length, heads, width), key, value, strength, torch.zeros(batch, heads, width, width)]


def reflection(batch: int, length: int, state: int) -> list[Tensor]:
    n = state // BLOCK
    key = functional.normalize(torch.randn(batch, length, REFLECTIONS, n, BLOCK), dim=-1)
    strength = torch.full((batch, length, REFLECTIONS, n), 2.0)
    return [key, strength, normal(batch, length, n, BLOCK), torch.randn(batch, n, BLOCK)]


def selection(batch: int, length: int, state: int) -> list[Tensor]:
    """Entries are scattered, and those that meet are added: small drives keep them small."""
    n = state // BLOCK
    return [normal(batch, length, n, BLOCK, BLOCK), normal(batch, length, n, BLOCK) / length, torch.randn(batch, n, BLOCK)]


INPUTS: dict[str, Callable[[int, int, int], list[Tensor]]] = {
    "diagonal_scan": diagonal,
    "rotation_scan": rotation,
    "givens_scan": givens,
    "block_scan": block,
    "delta_scan": delta,
    "reflection_scan": reflection,
    "selection_scan": selection,
}
