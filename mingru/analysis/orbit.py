"""The exact representation next to where a block's states are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Eigenvalues of one invariant subspace agree to rounding; what is this small beside the largest is noise.
SAME, NEGLIGIBLE = 1e-9, 1e-3


@dataclass(frozen=True)
class Orbit:
    """One block of a representation, as it stands at each of c nodes: states (c, n, K) about `centres` (c, K).

    `acts` (n, K, K) are orthogonal, in coordinates of the orbit's own, and `turns` (c, K, K) bring these to each node. `dims` are the
    dimensions of the invariant subspaces that the states span, in the order of their share, each irreducible over the reals (or a sum of
    such where the states do not tell them apart). `kept` is the share of the given states' variance that lies in them.
    """

    acts: Tensor
    turns: Tensor
    centres: Tensor
    states: Tensor
    dims: list[int]
    kept: float

    def between(self, before: int, after: int) -> Tensor:
        """(n, K, K): the maps that take states[before, h] to states[after, xh], about the centres; to rounding."""
        return self.turns[after] @ self.acts @ self.turns[before].T

    # A flat model has one node.
    @property
    def maps(self) -> Tensor:
        return self.between(0, 0)

    @property
    def centre(self) -> Tensor:
        return self.centres[0]


def nearest_orbit(given: Tensor, table: Tensor) -> Orbit:
    """The orbit of the group of `table` next to given states (c, n, K), one for each node and element.

    The Gram matrix of the states about their node's mean, averaged over the nodes and the group, is exactly invariant, so each of its
    eigenspaces is a representation, a part of the regular one. Those with the largest eigenvalues that fit into the block are kept whole,
    and turned onto the given states of each node (Procrustes). Orthogonal to their span the acts are the identity.
    """
    (c, n, k), centres = given.shape, given.mean(1)
    offsets = given - centres.unsqueeze(1)
    values, vectors, dims = leading(invariant_gram(offsets, table), k)
    rank, points = sum(dims), vectors * values.sqrt()
    u, _, v = torch.linalg.svd(offsets.mT @ points, full_matrices=True)
    turns = torch.cat([u[:, :, :rank] @ v, u[:, :, rank:]], dim=2)
    acts = torch.eye(k, dtype=given.dtype).repeat(n, 1, 1)
    # Coordinates of the regular representation: x takes the vector of h to that of xh.
    acts[:, :rank, :rank] = torch.stack([vectors[row].T @ vectors for row in table])
    kept = float(c * values.sum() / offsets.square().sum()) if dims else 0.0
    return Orbit(acts, turns, centres, centres.unsqueeze(1) + points @ turns[:, :, :rank].mT, dims, kept)


def held(given: Tensor) -> Orbit:
    """The orbit of a block that tells nothing of the product: it stays at the mean of the given states."""
    (c, n, k), centres = given.shape, given.mean(1)
    acts, turns = (torch.eye(k, dtype=given.dtype).expand(number, k, k) for number in (n, c))
    return Orbit(acts, turns, centres, centres.unsqueeze(1).expand(c, n, k), [], 0.0)


def invariant_gram(offsets: Tensor, table: Tensor) -> Tensor:
    """(n, n): mean over nodes and over x of <offset[xg], offset[xh]>, for offsets (c, n, K)."""
    beside = offsets.transpose(0, 1).flatten(1)
    total = torch.zeros(len(table), len(table), dtype=offsets.dtype)
    for row in table:
        moved = beside[row]
        total += moved @ moved.T
    return total / (len(table) * len(offsets))


def leading(gram: Tensor, room: int) -> tuple[Tensor, Tensor, list[int]]:
    """Whole eigenspaces, largest eigenvalue first, while they fit into so many dimensions: values (r,), vectors (n, r), their dimensions.

    One that no longer fits is passed over with all that come after it.
    """
    values, vectors = (found.flip(-1) for found in torch.linalg.eigh(gram))
    floor = NEGLIGIBLE * float(values[0])
    dims: list[int] = []
    while (used := sum(dims)) < len(values) and floor > 0 and float(values[used]) > floor:
        dim = int((values[used] - values[used:] < SAME * values[0]).sum())
        if used + dim > room:
            break
        dims.append(dim)
    used = sum(dims)
    return values[:used], vectors[:, :used], dims
