"""What a block's maps represent: how well they multiply like the group, the character, the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PAIRS_AT_ONCE = 2**14
# Maps of a representation of a group of a few thousand elements are further apart than this.
EQUAL = 1e-6


@dataclass(frozen=True)
class Representation:
    """`norm` is <chi, chi>: 1 for what is irreducible over the complex numbers. `kernel` elements act as the identity."""

    order: int
    norm: float
    kernel: int

    @property
    def image(self) -> str:
        if self.kernel == self.order:
            return "nothing"
        return "faithful" if self.kernel == 1 else f"a quotient of order {self.order // self.kernel}"


def represents(maps: Tensor) -> Representation:
    """What exact maps (n, K, K) of a group's elements represent."""
    character = maps.diagonal(dim1=1, dim2=2).sum(1)
    unmoved = torch.linalg.matrix_norm(maps - torch.eye(maps.shape[-1], dtype=maps.dtype)) < EQUAL
    return Representation(len(maps), float(character.square().mean()), int(unmoved.sum()))


def restricted(maps: Tensor, states: Tensor) -> Tensor:
    """The maps (n, K, K) within the subspace that states (n, K) span about their mean, which they leave invariant: (n, r, r)."""
    offsets = states - states.mean(0)
    _, sizes, basis = torch.linalg.svd(offsets, full_matrices=False)
    basis = basis[sizes > EQUAL * sizes[0].clamp(min=EQUAL)]
    return basis @ maps @ basis.T


def largest_violation(maps: Tensor, table: Tensor) -> float:
    """max over x, y of |M_xy - M_x M_y| in the spectral norm, for maps (n, K, K) of one block."""
    rows = max(1, PAIRS_AT_ONCE // len(maps))
    largest = 0.0
    for first in range(0, len(maps), rows):
        part = slice(first, first + rows)
        difference = maps[table[part]] - maps[part].unsqueeze(1) @ maps
        # At least the spectral norm: only those that could be the largest are looked at.
        candidates = difference[difference.flatten(2).norm(dim=2) > largest]
        if len(candidates):
            largest = max(largest, float(torch.linalg.matrix_norm(candidates, ord=2).max()))
    return largest
