import torch
from torch import Tensor


def reflection_scan(key: Tensor, strength: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h <- decay[t] h, then for each factor j: h <- h - strength[t, j] k[t, j] (k[t, j] . h), then h[t] = h + drive[t]: the
    definition every kernel is judged by."""
    states = []
    for *coefficients, x in zip(*(given.unbind(1) for given in (key, strength, decay, drive)), strict=True):
        state = carry(*coefficients, state) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(key: Tensor, strength: Tensor, decay: Tensor, state: Tensor) -> Tensor:
    """What one token makes of the state before it."""
    state = decay[..., None] * state
    for k, s in zip(key.unbind(1), strength.unbind(1), strict=True):
        state = state - (s * (k * state).sum(-1))[..., None] * k
    return state
