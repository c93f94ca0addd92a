"""The published ladder, mingru-scans 0.2.0, whose import name is `mingru` too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import mingru
from scripts.benchmarks.workloads import passes

if getattr(mingru, "__version__", None) != "0.2.0":
    raise ImportError(f"wanted mingru-scans 0.2.0, imported mingru from {mingru.__file__}")

CLASSES = {"log": "MinGRU", "signed": "SignedMinGRU", "rotation": "RotationMinGRU", "givens": "GivensMinGRU", "delta": "DeltaMinGRU"}
# What conf/mixer/delta.yaml has and the package's default has not.
SETTINGS: dict[str, dict[str, Any]] = {"delta": {"nh": 2}}
BLOCK = 8


def mixer(name: str) -> nn.Module:
    return getattr(mingru, CLASSES[name])(passes.WIDTH, passes.WIDTH, **SETTINGS.get(name, {}))


class Model(nn.Module):
    """The embedding and the head that its stack comes without."""

    def __init__(self, layers: Sequence[str]) -> None:
        super().__init__()
        kwargs = {name: SETTINGS[name] for name in layers if name in SETTINGS}
        self.embed = nn.Embedding(passes.N_TOKENS, passes.WIDTH)
        self.stack = mingru.MinGRUStack(passes.WIDTH, passes.WIDTH, len(layers), mixer=list(layers), mixer_kwargs=kwargs or None)
        self.head = nn.Linear(passes.WIDTH, passes.N_TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.stack(self.embed(tokens))[0])

    def step(self, token: Tensor, state: list[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        y, state = self.stack.step(self.embed(token), state)
        return self.head(y), state


def training_step(layers: Sequence[str], batch: int, length: int) -> passes.Work:
    model = Model(layers)
    return passes.training(model, model, batch, length)


def layer(name: str, batch: int, length: int) -> passes.Work:
    built = mixer(name)
    return passes.layer(built, built, batch, length)


def stack_stream(name: str, batch: int = 1) -> passes.Work:
    model = Model([name])
    return passes.stream(model.step, torch.randint(passes.N_TOKENS, (batch,)), model.stack.init_state())


def layer_stream(name: str, batch: int = 1) -> passes.Work:
    built = mixer(name)

    def step(x: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        result = built.step(x, state)
        return result if isinstance(result, tuple) else (result, result)

    return passes.stream(step, torch.randn(batch, passes.WIDTH), None)


def scan(name: str, batch: int, length: int) -> passes.Work:
    """A scan function alone, from coefficients that are already built, with the initial state applied to what it returns."""
    return passes.op(*SCANS[name](batch, length))


def affine(batch: int, length: int) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """What its givens mixer runs on: 8x8 matrices."""

    def states(transition: Tensor, drive: Tensor, state: Tensor) -> Tensor:
        product, own = mingru.matrix_affine_scan(transition, drive)
        return torch.einsum("btnij,bnj->btni", product, state) + own.squeeze(-1)

    return states, [orthogonal(batch, length, BLOCK), *drive_and_state(batch, length, BLOCK, 1)]


def planar(batch: int, length: int) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """What its rotation mixer runs on: 2x2 matrices."""

    def states(transition: Tensor, drive: Tensor, state: Tensor) -> Tensor:
        product, own = mingru.matrix_scan(transition, drive)
        return torch.einsum("btnij,bnj->btni", product, state) + own

    return states, [orthogonal(batch, length, 2), *drive_and_state(batch, length, 2)]


def linear(batch: int, length: int) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """What its signed mixer runs on."""

    def states(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
        product, own = mingru.linear_scan(decay, drive)
        return product * state.unsqueeze(1) + own

    shape = (batch, length, passes.WIDTH)
    return states, [torch.randn(shape).tanh(), torch.randn(shape), torch.randn(batch, passes.WIDTH)]


def logarithmic(batch: int, length: int) -> tuple[Callable[..., Tensor], list[Tensor]]:
    """What its log mixer runs on: logarithms, the initial state's before the others."""

    def states(log_decay: Tensor, log_drive: Tensor, log_state: Tensor) -> Tensor:
        return mingru.parallel_scan_log(log_decay, torch.cat([log_state, log_drive], dim=1))

    shape = (batch, length, passes.WIDTH)
    return states, [-torch.rand(shape), torch.randn(shape), torch.randn(batch, 1, passes.WIDTH)]


def orthogonal(batch: int, length: int, size: int) -> Tensor:
    n = passes.WIDTH // size
    return torch.linalg.qr(torch.randn(n, size, size))[0].repeat(batch, length, 1, 1, 1)


def drive_and_state(batch: int, length: int, size: int, *columns: int) -> list[Tensor]:
    n = passes.WIDTH // size
    return [torch.randn(batch, length, n, size, *columns), torch.randn(batch, n, size)]


SCANS = {"matrix_affine_scan": affine, "matrix_scan": planar, "linear_scan": linear, "parallel_scan_log": logarithmic}
