"""Where the state is on average when a word's product is known, and how much of the state that explains."""

from __future__ import annotations

import torch
from torch import Tensor

from mingru.analysis.maps import Maps


def mean_states(maps: Maps, table: Tensor, length: int) -> Tensor:
    """(n, N, K): the mean state after all words of so many tokens whose product is each element, exactly.

    table[x, h] is the element after token x in h; it may be any closed table, as it is while it is being read off the weights.
    """
    states = maps.after_first()
    for _ in range(length - 1):
        states = averaged(maps, states, table)
    return states


def averaged(maps: Maps, states: Tensor, table: Tensor) -> Tensor:
    """Of each element the mean of what tokens make of states, where the table says that it is the product; unchanged where it never is."""
    sums, counts = torch.zeros_like(states), torch.bincount(table.flatten(), minlength=len(states)).view(-1, 1, 1)
    for part, images in maps.images(states):
        sums.index_add_(0, table[part].flatten(), images.flatten(0, 1))
    return torch.where(counts > 0, sums / counts.clamp(min=1), states)


def shares(maps: Maps, states: Tensor, length: int) -> Tensor:
    """(N,): the share of each block's variance, over all words of that length, that knowing the product explains.

    1: the block is a function of the product. 0: it tells nothing of it.
    """
    n, n_blocks, k = states.shape
    # Moments of (h, 1), which an affine map moves linearly.
    lifted = torch.zeros(n, n_blocks, k + 1, k + 1, dtype=states.dtype)
    lifted[..., :k, :k], lifted[..., :k, k], lifted[..., k, k] = maps.linear, maps.drive, 1
    start = torch.cat([maps.start, maps.start.new_ones(n_blocks, 1)], dim=-1)
    moment = start.unsqueeze(-1) * start.unsqueeze(-2)
    for _ in range(length):
        moment = (lifted @ moment @ lifted.mT).mean(0)
    mean = moment[:, :k, k]
    variance = moment[:, :k, :k].diagonal(dim1=1, dim2=2).sum(1) - mean.square().sum(1)
    explained = (states - states.mean(0)).square().sum(-1).mean(0)
    return explained / variance.clamp(min=torch.finfo(states.dtype).tiny)
