import torch
from torch import Tensor


def delta_scan(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
    """H <- decay[t] H, then for each micro-step j: H <- H + strength[t, j] k[t, j] (v[t, j] - H^T k[t, j])^T.

    outputs[t] = H^T q[t] after the last micro-step: the definition every kernel is judged by.
    """
    outputs = []
    for q, keys, values, strengths, scale in zip(*(given.unbind(1) for given in (query, key, value, strength, decay)), strict=True):
        state = scale[..., None, None] * state
        for k, v, s in zip(keys.unbind(1), values.unbind(1), strengths.unbind(1), strict=True):
            error = v - torch.einsum("bhkv,bhk->bhv", state, k)
            state = state + torch.einsum("bhk,bhv->bhkv", s[..., None] * k, error)
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q))
    return torch.stack(outputs, dim=1), state
