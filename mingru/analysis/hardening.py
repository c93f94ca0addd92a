"""A trained flat model with its layer replaced by an exact representation of the group that it tracks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.analysis import groups
from mingru.analysis.exact import WORDS, ExactLayer, nearly_widest, orbits_next_to
from mingru.analysis.maps import Maps, read_flat, token_inputs, with_maps
from mingru.analysis.rest import answers
from mingru.analysis.states import mean_states, shares
from mingru.stack import Stack


@dataclass(frozen=True)
class Hardening(ExactLayer):
    """Of a flat model, whose states (n, N, K) are by element: with the group's `table` and the `learned` maps."""

    table: Tensor
    learned: Maps

    def moves(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        for token, row in enumerate(self.table):
            yield token, self.states, self.states[row]


def harden(stack: Stack, table: Tensor, targets: Tensor) -> Hardening:
    """The exact model next to this one, for the group of `table`; targets[g] is the class that answers element g.

    Of each block the mean state of each element, over all words with that product, is moved to the nearest exact orbit. A block that
    tells nothing of the product stays at its mean. `right` says whether the rest of the network, which is left alone, answers rightly in
    every state after every token: where it does not, the model was no near-representation, or not of this group.
    """
    learned = read_flat(stack)
    if learned.n_tokens != len(table):
        raise ValueError(f"hardening: a table of {learned.n_tokens} elements is wanted, one for each token, got {len(table)}")
    return nearly_widest([at_length(stack, learned, table, targets, word) for word in WORDS])


def at_length(stack: Stack, learned: Maps, table: Tensor, targets: Tensor, word: int) -> Hardening:
    means = mean_states(learned, table, word)
    share = shares(learned, means, word)
    orbits = orbits_next_to(means.unsqueeze(0), share, table)
    states = torch.stack([orbit.states[0] for orbit in orbits], dim=1)
    linear = torch.stack([orbit.maps for orbit in orbits], dim=1)
    centre = torch.stack([orbit.centre for orbit in orbits])
    drive = centre - (linear @ centre.unsqueeze(-1)).squeeze(-1)
    exact = Maps(linear, drive, states[groups.identity(table)])
    found = answers(stack, stack.embed.weight, states.flatten(1), targets)
    return Hardening(exact, states, orbits, share, word, found, table=table, learned=learned)


def hardened_stack(stack: Stack, exact: Maps) -> Stack:
    """A copy of the stack in which the exact maps take the mixer's place."""
    return with_maps(stack, token_inputs(stack), exact)
