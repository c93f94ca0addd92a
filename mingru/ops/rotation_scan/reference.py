import torch
from torch import Tensor


def rotation_scan(angle: Tensor, scale: Tensor, drive: Tensor, state: Tensor, decay: Tensor) -> Tensor:
    """h[t] = decay[t] R(angle[t]) diag(1, scale[t]) h[t-1] + drive[t]: the definition every kernel is judged by."""
    cos, sin = torch.cos(angle), torch.sin(angle)
    states = []
    for t in range(drive.shape[1]):
        first, second = decay[:, t] * state[..., 0], decay[:, t] * scale[:, t] * state[..., 1]
        turned = [cos[:, t] * first - sin[:, t] * second, sin[:, t] * first + cos[:, t] * second]
        state = torch.stack(turned, dim=-1) + drive[:, t]
        states.append(state)
    return torch.stack(states, dim=1)
