import torch
from torch import Tensor


def delta_scan(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor]:
    """H <- decay[t] H, then for each micro-step j: H <- H + strength[t, j] k[t, j] (v[t, j] - H^T k[t, j])^T.

    outputs[t] = H^T q[t] after the last micro-step: the definition every kernel is judged by.
    """
    outputs = []
    for t in range(query.shape[1]):
        state = decay[:, t, :, None, None] * state
        for j in range(key.shape[2]):
            error = value[:, t, j] - torch.einsum("bhkv,bhk->bhv", state, key[:, t, j])
            write = strength[:, t, j, :, None] * key[:, t, j]
            state = state + torch.einsum("bhk,bhv->bhkv", write, error)
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, query[:, t]))
    return torch.stack(outputs, dim=1), state
