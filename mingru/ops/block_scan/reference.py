import torch
from torch import Tensor


def block_scan(transition: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h[t] = transition[t] (decay[t] h[t-1]) + drive[t]: the definition every kernel is judged by."""
    states = []
    for *coefficients, x in zip(*(given.unbind(1) for given in (transition, decay, drive)), strict=True):
        state = carry(*coefficients, state) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(transition: Tensor, decay: Tensor, state: Tensor) -> Tensor:
    """What one token makes of the state before it."""
    return (transition @ (decay[..., None] * state)[..., None])[..., 0]
