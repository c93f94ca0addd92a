"""A trained model of several layers, with its extractor held, read as the finite machine that it then is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.analysis import groups
from mingru.analysis.held import begin_midway, hold
from mingru.analysis.machine import UNSEEN, Machine, explore, moves_of
from mingru.analysis.rest import ALLOWANCE
from mingru.stack import Stack

# Sequences and tokens over which the gap of the last layer's choices is taken.
SEQUENCES, LENGTH = 64, 256


@dataclass(frozen=True)
class Layered:
    """The `held` stack, the `share` of the last block's input that its extractor explains, its machine, and the table read from that.

    `table[x, h]` is the answer after a word that leads from the start to x, where it was h before. `fault` says why it is no group's.
    `choice_margin` is how far the last layer's choices are from being others, rounding allowed for.
    """

    held: Stack
    share: float
    choice_margin: float
    machine: Machine
    table: Tensor | None
    start: int | None
    fault: str | None


def harden_layered(stack: Stack, period: int, length: int) -> Layered:
    """The exact machine next to this model, and what it computes, read without labels.

    Every layer but the last is replaced by what it says on average of the last `period` tokens and of the place among them, taken over
    words of `length` tokens. ValueError where the last layer does not only move its state.
    """
    held, share = hold(stack, period, length)
    # Refuses what is no machine before its start is looked for, which would take long.
    moves_of(held)
    begin_midway(held, held.blocks[-1].mixer.h0, length)
    if (margin := choice_margin(held)) <= 0:
        raise ValueError("with its extractor held, the last layer has a choice so near to another that rounding may make it")
    machine = explore(held)
    start = before_all(machine)
    table, fault = read_machine(machine, start)
    return Layered(held, share, margin, machine, table, start, fault)


def before_all(machine: Machine) -> int | None:
    """The answer that the first word finds: the one after which every word does the same. None where there is none."""
    acts = machine.acts
    same = (acts[:, :-1] == acts[:, -1:]).all(0).nonzero().flatten().tolist()
    return same[0] if same and machine.early <= {same[0]} else None


def read_machine(machine: Machine, start: int | None) -> tuple[Tensor | None, str | None]:
    """The table of a machine's answers, (C, C), or None; and why it is no group's, or None."""
    if machine.fault is not None:
        return None, machine.fault
    if start is None:
        return None, "it begins as after no answer"
    acts, classes = machine.acts[:, :-1], machine.acts.shape[1] - 1
    if (acts == UNSEEN).any():
        return None, "some answers are never given"
    elements = acts[:, start]
    if len(elements.unique()) < classes:
        return None, "one element's tokens do not lead from the start to every answer"
    table = torch.stack([acts[elements == x][0] for x in range(classes)])
    if not torch.equal(table[elements], acts):
        return None, "words that lead from the start to one answer do different things elsewhere"
    return table, groups.fault(table)


def equals_task(found: Layered, oracle: Callable[[Tensor], Tensor]) -> bool:
    """Whether the machine answers every word after every other as the task does, whose `oracle` labels tokens (B, T) with (B, T)."""
    acts, extractor = found.machine.acts[:, :-1], found.held.blocks[0].mixer
    n, period = len(extractor.inputs), extractor.state_size
    words = torch.cartesian_prod(*[torch.arange(n)] * period).reshape(-1, period)
    spelt = torch.stack([words[acts[:, found.start] == x][0] for x in range(acts.shape[1])])
    both = torch.cat([spelt.repeat(len(words), 1), words.repeat_interleave(len(spelt), 0)], dim=1)
    labels = oracle(both)
    first_right = bool((labels[:, period - 1] == torch.arange(len(spelt)).repeat(len(words))).all())
    early_right = bool((labels[:, : period - 1] == found.start).all())
    return first_right and early_right and torch.equal(labels[:, -1].reshape(len(words), -1), acts)


@torch.no_grad()
def choice_margin(held: Stack) -> float:
    """The smallest gap between a choice that the last layer makes and the next best, over random words, less ten times the largest
    difference between float32 and float64 in what it chooses by.
    """
    extractor, block = held.blocks[0].mixer, held.blocks[-1]
    exact = copy.deepcopy(block).double()
    rounded = block.mixer.projection(block.norm(extractor.outputs))
    precise = exact.mixer.projection(exact.norm(extractor.outputs.double()))
    off = max(float((one - other).abs().max()) for one, other in zip(rounded, precise, strict=True))
    words = torch.randint(held.embed.num_embeddings, (SEQUENCES, LENGTH), generator=torch.Generator().manual_seed(0))
    return float(block.mixer.margin(block.norm(extractor(held.embed(words))[0]))) - ALLOWANCE * off
