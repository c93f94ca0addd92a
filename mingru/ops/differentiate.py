"""The backward pass of h[t] = carry(coefficients[t], h[t-1]) + drive[t] in plain torch, where there is no kernel."""

from collections.abc import Callable

import torch
from torch import Tensor


def through_time(carry: Callable, grad: Tensor, coefficients: tuple[Tensor, ...], state: Tensor, states: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the coefficients in their order, of the drive and of the initial state."""
    previous = torch.cat([state[:, None], states[:, :-1]], dim=1)
    carried = torch.zeros_like(state)
    steps = []
    for t in reversed(range(grad.shape[1])):
        total = grad[:, t] + carried
        _, pull_back = torch.func.vjp(carry, *(c[:, t] for c in coefficients), previous[:, t])
        *grads, carried = pull_back(total)
        steps.append((*grads, total))
    return *(torch.stack(part, dim=1) for part in zip(*reversed(steps), strict=True)), carried
