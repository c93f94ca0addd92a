"""Groups and flat models whose answers are known."""

import functools

import numpy as np
import torch
from torch import Tensor

from mingru.analysis.maps import Maps
from mingru.mixers.hardened import Hardened
from mingru.stack import Stack
from tasks.algebra.names import named_group
from tasks.algebra.permutations import permutation_group

S3 = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]]


def table_of(group: str) -> Tensor:
    found = permutation_group(S3) if group == "S3" else named_group(group)
    elements = np.arange(found.order)
    return torch.from_numpy(found.step(elements[:, None], elements).astype(np.int64))


def permutations(table: Tensor) -> Tensor:
    """(n, n, n): the regular representation."""
    return torch.nn.functional.one_hot(table, len(table)).transpose(1, 2).double()


def sign_and_plane() -> tuple[Tensor, Tensor]:
    """The sign (6, 1, 1) and the plane (6, 2, 2) of S3."""
    points = torch.eye(3, dtype=torch.float64)
    matrices = torch.stack([points[torch.tensor(p)].T for p in S3])
    plane = torch.linalg.qr(torch.tensor([[1.0, 0], [-1, 1], [0, -1]], dtype=torch.float64))[0]
    return torch.linalg.det(matrices).reshape(6, 1, 1), plane.T @ matrices @ plane


def noisy(blocks: list[Tensor], noise: float, size: int, generator: torch.Generator) -> Maps:
    """Orthogonal maps of blocks of `size` next to these representations, about random points; the rest of a block is turned at random."""
    linear, starts = [], torch.full((len(blocks), size), 0.3, dtype=torch.float64)
    for block, start in zip(blocks, starts, strict=True):
        n, k = block.shape[:2]
        start[:k] = torch.randn(k, dtype=torch.float64, generator=generator) + 1
        whole = torch.linalg.qr(torch.randn(n, size, size, dtype=torch.float64, generator=generator))[0]
        whole[:, :k], whole[:, :, :k] = 0, 0
        whole[:, :k, :k] = block
        whole[:, k:, k:] = torch.linalg.qr(torch.randn(n, size - k, size - k, dtype=torch.float64, generator=generator))[0]
        skew = torch.randn(n, size, size, dtype=torch.float64, generator=generator) * noise
        linear.append(torch.matrix_exp(skew - skew.mT) @ whole)
    stacked = torch.stack(linear, dim=1)
    points = torch.randn(len(blocks), size, dtype=torch.float64, generator=generator)
    drive = points - (stacked @ points.unsqueeze(-1)).squeeze(-1)
    return Maps(stacked, drive, points + starts)


@functools.cache
def trained_s3() -> Stack:
    """A flat model of S3 whose layer nearly represents it, and whose MLP and head were trained for a moment on where its states are."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    sign, plane = sign_and_plane()
    maps = noisy([plane, sign, plane, sign], 0.01, 4, generator)
    layer = Hardened(16, 6, 4)
    stack = Stack([lambda d_model: layer], d_model=16, n_outputs=6, n_tokens=6)
    with torch.no_grad():
        layer.inputs.copy_(stack.blocks[0].norm(stack.embed.weight))
        for name in ("linear", "drive", "start"):
            getattr(layer, name).copy_(getattr(maps, name))
    # Not what comes before the layer, whose inputs are known to it.
    after = [p for name, p in stack.named_parameters() if not name.startswith(("embed", "blocks.0.norm"))]
    optimiser = torch.optim.Adam(after, lr=1e-2)
    table = table_of("S3")
    for _ in range(150):
        words = torch.randint(6, (16, 12), generator=generator)
        loss = torch.nn.functional.cross_entropy(stack(words)[0].flatten(0, 1), products(table, words).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return stack.eval()


def products(table: Tensor, words: Tensor) -> Tensor:
    """state[t] = table[x[t], state[t-1]] from the identity, element 0."""
    states, state = [], torch.zeros(len(words), dtype=torch.int64)
    for token in words.unbind(1):
        state = table[token, state]
        states.append(state)
    return torch.stack(states, dim=1)
