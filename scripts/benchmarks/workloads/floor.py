"""The same network with its recurrences taken out: what a training step costs beside them.

In place of each op stands a function whose results, and whose gradients on the way back, lie ready in memory. Everything before and
after it, the projections, gates, norms, MLP, loss and optimiser, runs forward and backward as it always does.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from mingru import mixers
from scripts.benchmarks.workloads.passes import Work

OPS = ("diagonal_scan", "rotation_scan", "givens_scan", "block_scan", "delta_scan", "reflection_scan", "selection_scan")


def without_ops(work: Work) -> Work:
    """`work` with every op taken out while it runs. RuntimeError where no op is in it: then there is nothing to take out."""
    modules, called = mixer_modules(), []

    def stand_in(name: str, _: Callable) -> Callable:
        signature = inspect.signature(getattr(importlib.import_module(f"mingru.ops.{name}"), name))

        def taken_out(*positional: Tensor | bool | None, **named: Tensor | bool | None) -> Any:
            called.append(name)
            arguments = signature.bind(*positional, **named).arguments
            return ready(name, {key: tensor for key, tensor in arguments.items() if isinstance(tensor, Tensor)})

        return taken_out

    def floored() -> None:
        with replaced(modules, stand_in):
            work()

    floored()
    if not called:
        raise RuntimeError("no mixer of this step calls an op by its name, so its floor cannot be measured")
    return floored


def ready(name: str, arguments: dict[str, Tensor]) -> Any:
    """Results of the op's shapes: its drive's, or for delta_scan outputs and a state."""
    if name != "delta_scan":
        return Ready.apply((arguments["drive"].shape,), *arguments.values())
    query, value, state = (arguments[key] for key in ("query", "value", "state"))
    return Ready.apply(((*query.shape[:3], value.shape[-1]), state.shape), *arguments.values())


class Ready(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shapes, *tensors):
        ctx.set_materialize_grads(False)
        ctx.shapes = [tensor.shape for tensor in tensors]
        results = tuple(constant(tuple(shape)).detach() for shape in shapes)
        return results if len(results) > 1 else results[0]

    @staticmethod
    def backward(ctx, *_):
        return None, *(constant(tuple(shape)) for shape in ctx.shapes)


@functools.lru_cache(maxsize=64)
def constant(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape)


def mixer_modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(mixers.__path__, f"{mixers.__name__}.")
    return [importlib.import_module(each.name) for each in found]


@contextmanager
def replaced(modules: list[ModuleType], stand_in: Callable[[str, Callable], Callable]) -> Iterator[None]:
    """Every op under the name that a mixer's module imported it by, replaced by `stand_in(name, op)`."""
    real = [(module, name, getattr(module, name)) for module in modules for name in OPS if hasattr(module, name)]
    for module, name, op in real:
        setattr(module, name, stand_in(name, op))
    try:
        yield
    finally:
        for module, name, op in real:
            setattr(module, name, op)
