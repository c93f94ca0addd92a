import torch
from torch import Tensor


def givens_scan(angle: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h[t] = G[R-1] ... G[1] G[0] (decay[t] h[t-1]) + drive[t]: the definition every kernel is judged by.

    G[r] turns the planes (0, 1), (2, 3), ... by angle[t, :, r] when r is even and (1, 2), (3, 4), ..., (K-1, 0) when
    r is odd.
    """
    cos, sin = torch.cos(angle), torch.sin(angle)
    states = []
    for t in range(drive.shape[1]):
        state = decay[:, t, :, None] * state
        for r in range(angle.shape[3]):
            state = _turn(state, cos[:, t, :, r], sin[:, t, :, r], offset=r % 2)
        state = state + drive[:, t]
        states.append(state)
    return torch.stack(states, dim=1)


def _turn(state: Tensor, cos: Tensor, sin: Tensor, offset: int) -> Tensor:
    first, second = state.roll(-offset, -1).unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack([cos * first - sin * second, sin * first + cos * second], dim=-1)
    return turned.flatten(-2).roll(offset, -1)
