import torch
from torch import Tensor


def givens_scan(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h[t] = G[R-1] ... G[1] G[0] (decay[t] h[t-1]) + drive[t]: the definition every kernel is judged by."""
    states = []
    for *coefficients, x in zip(*(given.unbind(1) for given in (angle, decay, drive)), strict=True):
        state = carry(*coefficients, state) + x
        states.append(state)
    return torch.stack(states, dim=1)


def carry(angle: Tensor, decay: Tensor, state: Tensor) -> Tensor:
    """What one token makes of the state before it.

    G[r] turns the planes (0, 1), (2, 3), ... by angle[..., r, :] when r is even and (1, 2), (3, 4), ..., (K-1, 0) when
    r is odd.
    """
    state = decay[..., None] * state
    for r, turn in enumerate(angle.unbind(-2)):
        cos, sin = torch.cos(turn), torch.sin(turn)
        first, second = state.roll(-(r % 2), -1).unflatten(-1, (-1, 2)).unbind(-1)
        turned = torch.stack([cos * first - sin * second, sin * first + cos * second], dim=-1)
        state = turned.flatten(-2).roll(r % 2, -1)
    return state
