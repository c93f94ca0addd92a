"""The exact representation next to where a block's states are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Eigenvalues of one invariant subspace agree to rounding; what is this small beside the largest is noise.
SAME, NEGLIGIBLE = 1e-9, 1e-3


@dataclass(frozen=True)
class Orbit:
    """One block of a representation: maps (n, K, K), orthogonal, and the states (n, K) that they permute about their mean `centre`.

    maps[x] (states[h] - centre) = states[xh] - centre, to rounding. `dims` are those of the invariant subspaces that the states
    span, in the order of their share, each irreducible over the reals (or a sum of such where the states do not tell them apart).
    `kept` is the share of the given states' variance that lies in them.
    """

    maps: Tensor
    states: Tensor
    centre: Tensor
    dims: list[int]
    kept: float


def nearest_orbit(given: Tensor, table: Tensor) -> Orbit:
    """The orbit of the group of `table` next to given states (n, K), one for each element.

    The Gram matrix of the states, averaged over the group, is exactly invariant, so each of its eigenspaces is a representation, a
    part of the regular one. Those with the largest eigenvalues that fit into the block are kept whole, and turned onto the given
    states (Procrustes). Orthogonal to their span the maps are the identity.
    """
    k, centre = given.shape[1], given.mean(0)
    offsets = given - centre
    values, vectors, dims = leading(invariant_gram(offsets, table), k)
    points = vectors * values.sqrt()
    u, _, v = torch.linalg.svd(offsets.T @ points, full_matrices=False)
    turn = u @ v
    # Coordinates of the regular representation: x takes the vector of h to that of xh.
    inner = torch.stack([vectors[row].T @ vectors for row in table])
    maps = turn @ inner @ turn.T + torch.eye(k, dtype=given.dtype) - turn @ turn.T
    kept = float(values.sum() / offsets.square().sum()) if dims else 0.0
    return Orbit(maps, centre + points @ turn.T, centre, dims, kept)


def held(given: Tensor) -> Orbit:
    """The orbit of a block that tells nothing of the product: it stays at the mean of the given states."""
    n, k = given.shape
    centre = given.mean(0)
    return Orbit(torch.eye(k, dtype=given.dtype).expand(n, k, k), centre.expand(n, k), centre, [], 0.0)


def invariant_gram(offsets: Tensor, table: Tensor) -> Tensor:
    """(n, n): mean over x of <offset[xg], offset[xh]>."""
    total = torch.zeros(len(table), len(table), dtype=offsets.dtype)
    for row in table:
        moved = offsets[row]
        total += moved @ moved.T
    return total / len(table)


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
