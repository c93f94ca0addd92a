"""What each token does to the state of a flat model: one layer over tokens, whose map depends on the token alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.mixers.base import Mixer
from mingru.mixers.hardened import Hardened
from mingru.stack import Stack

# How far a mixer may be from the maps read from it, over the size of what it computes: it runs in float64.
NOT_AFFINE = 1e-9
VALUES_AT_ONCE = 2**22


@dataclass(frozen=True)
class Maps:
    """h -> linear[x, b] h + drive[x, b] for token x and block b, in float64, and the state before the first token.

    linear (n, N, K, K), drive (n, N, K), start (N, K). A product xy acts with y first, as in `state = table[x_t, state]`.
    """

    linear: Tensor
    drive: Tensor
    start: Tensor

    @property
    def n_tokens(self) -> int:
        return self.linear.shape[0]

    @property
    def n_blocks(self) -> int:
        return self.linear.shape[1]

    @property
    def block_size(self) -> int:
        return self.linear.shape[-1]

    def images(self, states: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """What each token makes of each of m states (m, N, K), for some tokens at a time: which, and (x, m, N, K)."""
        rows = max(1, VALUES_AT_ONCE // states.numel())
        for first in range(0, self.n_tokens, rows):
            part = slice(first, first + rows)
            yield part, torch.einsum("xbij,mbj->xmbi", self.linear[part], states) + self.drive[part].unsqueeze(1)

    def after_first(self) -> Tensor:
        """(n, N, K): the state after each token, if it is the first."""
        return torch.cat([images for _, images in self.images(self.start.unsqueeze(0))]).squeeze(1)


def check_flat(stack: Stack) -> None:
    """ValueError unless this is a flat model."""
    if len(stack.blocks) != 1:
        raise ValueError(f"hardening reads flat models, of one layer, and this one has {len(stack.blocks)}")
    if stack.d_input is not None or stack.time_feature or stack.last_only:
        raise ValueError("hardening reads models that answer at every one of a sequence's tokens, and know no time gaps")


@torch.no_grad()
def token_inputs(stack: Stack) -> Tensor:
    """(n, D): what the layer of a flat model gets for each token."""
    norm, embedded = stack.blocks[0].norm, stack.embed.weight.detach()
    return embedded.clone() if norm is None else norm(embedded)


def read_flat(stack: Stack) -> Maps:
    """The maps of a flat model's tokens; ValueError for another model, or a mixer that has no such maps."""
    check_flat(stack)
    exact = copy.deepcopy(stack).double()
    mixer = exact.blocks[0].mixer
    linear, drive = read_maps(mixer, token_inputs(exact))
    return Maps(linear, drive, mixer.init_state(1).detach().reshape(drive.shape[1:]))


@torch.no_grad()
def read_maps(mixer: Mixer, x: Tensor) -> tuple[Tensor, Tensor]:
    """(n, N, K, K) and (n, N, K): what inputs x (n, D) make of the state, read by running the mixer on unit vectors.

    One reading serves every mixer whose output is its state, (N, K) or (D,), and whose blocks are each moved by an affine map of
    the input. ValueError for others: whether the maps tell all is tried on random states.
    """
    if mixer.decay is not None:
        raise ValueError(f"{mixer.name}: what a token does depends on time gaps too, with decay; hardening reads maps of the token alone")
    if len(mixer.state_shape) > 2:
        raise ValueError(unreadable(mixer))
    n, (n_blocks, block_size) = len(x), (*mixer.state_shape, 1)[:2]
    units = torch.eye(block_size, dtype=x.dtype, device=x.device)
    drive = ran(mixer, x, torch.zeros(n, n_blocks, block_size).to(x))[1]
    columns = [ran(mixer, x, unit.expand(n, n_blocks, block_size))[1] - drive for unit in units]
    linear = torch.stack(columns, dim=-1)
    # Not below zero, since some states may not be.
    state = torch.rand(n, n_blocks, block_size, generator=torch.Generator().manual_seed(0)).to(x)
    told = (linear @ state.unsqueeze(-1)).squeeze(-1) + drive
    if any(not torch.allclose(seen, told, rtol=0, atol=NOT_AFFINE * float(1 + told.abs().max())) for seen in ran(mixer, x, state)):
        raise ValueError(unreadable(mixer))
    return linear, drive


def with_maps(stack: Stack, inputs: Tensor, maps: Maps) -> Stack:
    """A copy of the stack whose last layer moves its state by these maps, one for each of `inputs` (n, D)."""
    moved, layer = copy.deepcopy(stack), Hardened(inputs.shape[1], len(inputs), maps.block_size).to(inputs)
    layer.inputs.copy_(inputs)
    # They stay float64 in a float32 model.
    layer.linear, layer.drive, layer.start = maps.linear.clone(), maps.drive.clone(), maps.start.clone()
    moved.blocks[-1].mixer = layer
    return moved


def ran(mixer: Mixer, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Output and state after one input, both as (n, N, K)."""
    y, after = mixer(x.unsqueeze(1), state.reshape(len(x), *mixer.state_shape))
    return y.reshape(state.shape), after.reshape(state.shape)


def unreadable(mixer: Mixer) -> str:
    return f"{mixer.name}: its maps cannot be read; hardening reads mixers whose output is a state of blocks, each moved by an affine map"
