import torch
from torch import Tensor


def rotation_scan(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h[t] = decay[t] R(angle[t]) diag(1, scale[t]) h[t-1] + drive[t]: the definition every kernel is judged by."""
    states = []
    for *coefficients, x in zip(*(given.unbind(1) for given in (angle, scale, decay, drive)), strict=True):
        state = carry(*coefficients, state) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(angle: Tensor, scale: Tensor, decay: Tensor, state: Tensor) -> Tensor:
    """What one token makes of the state before it."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    first, second = decay * state[..., 0], scale * (decay * state[..., 1])
    return torch.stack([cos * first - sin * second, sin * first + cos * second], dim=-1)
