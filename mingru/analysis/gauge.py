"""Exact maps for a last layer that computes with its state, where what it does in one situation depends on the one before.

Layers share the work between neighbouring tokens, each model in its own way: after the same product, the state is not the same at each
node (place, last tokens), but at each it is an orbit of the group, turned and shifted. Which turn goes with which node is a gauge: it is
read off, and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.analysis.answers import Spelling
from mingru.analysis.exact import WORDS, ExactLayer, nearly_widest, orbits_next_to
from mingru.analysis.held import Held
from mingru.analysis.maps import Maps
from mingru.analysis.orbit import Orbit
from mingru.analysis.rest import answers

VALUES_AT_ONCE = 2**22


@dataclass(frozen=True)
class Gauge(ExactLayer):
    """Of a `held` model: states (nodes, n, N, K) are by node and product, maps by situation, and shares about the means of the nodes."""

    held: Held
    spelling: Spelling

    def moves(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        situations = self.held.situations
        nodes = zip(situations.before.tolist(), situations.after.tolist(), strict=True)
        products = situations.products(self.spelling.elements, self.spelling.table)
        for situation, ((before, after), product) in enumerate(zip(nodes, products, strict=True)):
            yield situation, self.states[before], self.states[after][product]

    def after_each(self) -> Tensor:
        """(situations, n, D): the states that each situation leaves."""
        return self.states.flatten(2)[self.held.situations.after]


def harden_gauge(found: Held, spelling: Spelling) -> Gauge:
    """The exact maps next to the learned ones: of the lengths over which states are averaged the longest with nearly the widest margin."""
    period = found.situations.period
    each = [at_length(found, spelling, word) for word in WORDS if word % period == 0 and word >= 2 * period]
    return nearly_widest(each)


def at_length(found: Held, spelling: Spelling, word: int) -> Gauge:
    situations, products = found.situations, found.situations.products(spelling.elements, spelling.table)
    means, share = moments(found, products, spelling.identity, word)
    orbits = orbits_next_to(means, share, spelling.table)
    exact = exact_maps(found, orbits, spelling)
    states = torch.stack([orbit.states for orbit in orbits], dim=2)
    after = states.flatten(2)[situations.after]
    right = answers(found.stack, found.given, after, torch.arange(len(spelling.table)))
    return Gauge(exact, states, orbits, share, word, right, held=found, spelling=spelling)


def exact_maps(found: Held, orbits: list[Orbit], spelling: Spelling) -> Maps:
    """h -> turn[after] act[element] turn[before]^T (h - centre[before]) + centre[after]; a held block goes there at once."""
    situations, (n_blocks, k) = found.situations, found.learned.start.shape
    linear = torch.zeros(len(situations), n_blocks, k, k, dtype=torch.float64)
    drive, before, after = linear[..., 0].clone(), situations.before, situations.after
    element = torch.where(situations.completes, spelling.elements[situations.word], spelling.identity)
    for block, orbit in enumerate(orbits):
        if orbit.dims:
            linear[:, block] = orbit.turns[after] @ orbit.acts[element] @ orbit.turns[before].mT
        drive[:, block] = orbit.centres[after] - (linear[:, block] @ orbit.centres[before].unsqueeze(-1)).squeeze(-1)
    return Maps(linear, drive, torch.stack([orbit.states[0, spelling.identity] for orbit in orbits]))


def moments(found: Held, products: Tensor, identity: int, length: int) -> tuple[Tensor, Tensor]:
    """(nodes, n, N, K), the mean state at each node over all words of so many tokens, or some fewer, with each product; exactly, from the
    layer's own start. And (N,): the share of a block's variance about the means of its nodes that the product explains.

    ValueError where some product does not come about at some node.
    """
    situations, learned, n = found.situations, found.learned, products.shape[1]
    nodes, (n_blocks, k) = situations.nodes, learned.start.shape
    at = situations.after.unsqueeze(1) * n + products
    lifted = torch.zeros(len(situations), n_blocks, k + 1, k + 1, dtype=torch.float64)
    lifted[..., :k, :k], lifted[..., :k, k], lifted[..., k, k] = learned.linear, learned.drive, 1
    weight = torch.zeros(nodes, n, dtype=torch.float64)
    weight[found.start, identity] = 1
    sums = weight[..., None, None] * learned.start
    first = torch.cat([learned.start, torch.ones(n_blocks, 1).double()], dim=-1)
    second = weight.sum(1)[:, None, None, None] * (first.unsqueeze(-1) * first.unsqueeze(-2))
    means = torch.full((nodes, n, n_blocks, k), torch.nan, dtype=torch.float64)
    for _ in range(length):
        weight, sums, second = step(found, at, lifted, weight, sums, second)
        there = weight > 0
        means[there] = sums[there] / weight[there][:, None, None]
    if means.isnan().any():
        raise ValueError(f"hardening: words of {length} tokens do not bring about every product after every token")
    # At the nodes of the last step.
    here = second[..., k, k] > 0
    about = second[..., :k, k].square().sum(-1)[here] / second[..., k, k][here]
    variance = (second[..., :k, :k].diagonal(dim1=-2, dim2=-1).sum(-1)[here] - about).reshape(-1, n_blocks).sum(0)
    explained = ((weight[..., None] * means.square().sum(-1)).sum(1)[here[:, 0]] - about.reshape(-1, n_blocks)).sum(0)
    return means, explained / variance.clamp(min=torch.finfo(torch.float64).tiny)


def step(found: Held, at: Tensor, lifted: Tensor, weight: Tensor, sums: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One token more: how likely each node and product is, the state there times that, and the second moments of (h, 1) by node."""
    situations, learned = found.situations, found.learned
    new_weight, new_sums, new_second = (torch.zeros_like(each) for each in (weight, sums, second))
    rows = max(1, VALUES_AT_ONCE // sums[0].numel())
    for part in torch.arange(len(situations)).split(rows):
        before, target = situations.before[part], at[part].flatten()
        drive = weight[before][..., None, None] * learned.drive[part].unsqueeze(1)
        images = torch.einsum("sbij,smbj->smbi", learned.linear[part], sums[before]) + drive
        new_weight.view(-1).index_add_(0, target, weight[before].flatten() / situations.n_tokens)
        new_sums.flatten(0, 1).index_add_(0, target, images.flatten(0, 1) / situations.n_tokens)
        moved = lifted[part] @ second[before] @ lifted[part].mT
        new_second.index_add_(0, situations.after[part], moved / situations.n_tokens)
    return new_weight, new_sums, new_second
