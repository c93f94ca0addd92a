import torch
from torch import Tensor


def diagonal_scan(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
    """h[t] = decay[t] * h[t-1] + drive[t]: the definition every kernel is judged by."""
    states = []
    for a, x in zip(decay.unbind(1), drive.unbind(1), strict=True):
        state = carry(a, state) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(decay: Tensor, state: Tensor) -> Tensor:
    """What one token makes of the state before it."""
    return decay * state
