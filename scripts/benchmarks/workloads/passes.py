"""One iteration of a training step, a layer, an op or a stream, written once for every library that is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 64
N_TOKENS = 6
RATE = 3e-3

Work = Callable[[], Any]


def training(model: nn.Module, logits: Callable[[Tensor], Tensor], batch: int, length: int) -> Work:
    """Forward, cross-entropy over all positions, backward and Adam, on one batch of tokens that is made beforehand."""
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    tokens, targets = torch.randint(N_TOKENS, (2, batch, length))

    def step() -> None:
        optimiser.zero_grad()
        functional.cross_entropy(logits(tokens).flatten(0, 1), targets.flatten()).backward()
        optimiser.step()

    return step


def layer(module: nn.Module, outputs: Callable[[Tensor], Tensor], batch: int, length: int) -> Work:
    """Forward and backward of vectors (batch, length, WIDTH), with gradients of the input and of all weights."""
    x = torch.randn(batch, length, WIDTH, requires_grad=True)
    probe = torch.randn(batch, length, WIDTH)
    wanted = [x, *module.parameters()]
    return lambda: torch.autograd.grad(outputs(x), wanted, probe)


def op(function: Callable[..., Tensor], arguments: Sequence[Tensor]) -> Work:
    """Forward and backward of a function of tensors, with a gradient of each."""
    inputs = [argument.detach().clone().requires_grad_() for argument in arguments]
    with torch.no_grad():
        probe = torch.randn_like(function(*inputs))
    return lambda: torch.autograd.grad(function(*inputs), inputs, probe)


def stream(step: Callable[[Tensor, Any], tuple[Tensor, Any]], inputs: Tensor, state: Any) -> Work:
    """One step without gradients; each goes on from the state of the last."""
    carried = [state]

    @torch.no_grad()
    def one() -> None:
        carried[0] = step(inputs, carried[0])[1]

    return one
