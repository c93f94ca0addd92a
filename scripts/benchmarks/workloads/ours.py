"""This project's layers, stacks and steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mingru import settings
from mingru.mixers.base import Mixer
from mingru.stack import Stack
from mingru.training import compile_stack
from scripts.benchmarks.workloads import floor, passes


def mixer(name: str) -> Mixer:
    """As conf/mixer/<name>.yaml has it."""
    return layer_of(name)(d_model=passes.WIDTH)


def layer_of(name: str):
    return settings.build(settings.instantiable(settings.stack_item(name, "stack", settings.CONF)))


def stack(layers: Sequence[str]) -> Stack:
    return Stack([layer_of(name) for name in layers], passes.WIDTH, n_outputs=passes.N_TOKENS, n_tokens=passes.N_TOKENS)


def training_step(layers: Sequence[str], batch: int, length: int, compiled: bool = False) -> passes.Work:
    """As `compile=true` has it where `compiled`; RuntimeError where that would go on uncompiled."""
    model = stack(layers)
    if compiled:
        compile_stack(model)
        if model._compiled_call_impl is None:
            raise RuntimeError("no C++ compiler is found, so nothing was compiled")
    return passes.training(model, lambda tokens: model(tokens)[0], batch, length)


def floor_step(layers: Sequence[str], batch: int, length: int) -> passes.Work:
    """The training step with the recurrences taken out."""
    return floor.without_ops(training_step(layers, batch, length))


def layer(name: str, batch: int, length: int) -> passes.Work:
    """The mixer alone: projections and op, no norm, no residual, no MLP."""
    built = mixer(name)
    return passes.layer(built, lambda x: built(x)[0], batch, length)


def stack_stream(name: str, batch: int = 1) -> passes.Work:
    """Tokens in, logits out, one layer between them."""
    built = stack([name])
    return passes.stream(built.step, torch.randint(passes.N_TOKENS, (batch,)), built.init_state(batch))


def layer_stream(name: str, batch: int = 1) -> passes.Work:
    built = mixer(name)
    return passes.stream(built.step, torch.randn(batch, passes.WIDTH), built.init_state(batch))
