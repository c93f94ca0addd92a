"""What a model makes of an element's tokens, read from its own answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from mingru.analysis import groups
from mingru.analysis.situations import Situations
from mingru.stack import Stack

# Pairs of elements that are read: all, or so many at random. And those that are read at once.
PAIRS, AT_ONCE = 2**20, 2**12


@dataclass(frozen=True)
class Spelling:
    """`elements[w]`: the answer after word w alone. `table[x, h]`: the answer after a word of element x that follows one of element h.

    `fault` says why that is no group's, None where it is.
    """

    elements: Tensor
    table: Tensor
    fault: str | None

    @property
    def identity(self) -> int | None:
        return groups.identity(self.table)


@torch.no_grad()
def read_answers(stack: Stack, situations: Situations) -> Spelling:
    """Read what words spell, and the table, from the answers of a stack to pairs of elements from the start, without labels."""
    words, classes, period = situations.words, stack.head.out_features, situations.period
    elements, table = torch.full((words,), -1), torch.full((classes, classes), -1)
    faults, early = [], []
    for first, second in some_pairs(words):
        found = stack(torch.cat([spelt(first, situations), spelt(second, situations)], dim=1))[0].argmax(-1)
        one, two = found[:, period - 1], found[:, -1]
        early.append(found[:, : period - 1].unique())
        if (found[:, period:-1] != one.unsqueeze(1)).any():
            faults.append("an answer changes before its element is complete")
        if not entered(elements, first, one):
            faults.append("an element's tokens are answered in two ways")
        known = elements[second] >= 0
        if not entered(table.view(-1), (elements[second] * classes + one)[known], two[known]):
            faults.append("an answer is no function of the element's tokens and of the answer before")
    if not faults and (table < 0).any():
        faults.append("some answers are never given after an element")
    if not faults and (why := groups.fault(table)) is not None:
        faults.append(why)
    if not faults and not set(torch.cat(early).tolist()) <= {groups.identity(table)}:
        faults.append("it does not begin with the answer of the identity")
    return Spelling(elements, table, faults[0] if faults else None)


def some_pairs(words: int) -> list[tuple[Tensor, Tensor]]:
    """Pairs of words: each word as the first of one, to begin with; then all pairs, or some."""
    generator, each = torch.Generator().manual_seed(0), torch.arange(words)
    if words**2 <= PAIRS:
        pairs = torch.arange(words**2)
    else:
        pairs = torch.randint(words**2, (PAIRS,), generator=generator)
    first, second = torch.cat([each, pairs // words]), torch.cat([each.roll(1), pairs % words])
    return list(zip(first.split(AT_ONCE), second.split(AT_ONCE), strict=True))


def spelt(words: Tensor, situations: Situations) -> Tensor:
    """(m, period): the tokens of words."""
    n = situations.n_tokens
    return torch.stack([words // n**power % n for power in reversed(range(situations.period))], dim=1)


def entered(into: Tensor, places: Tensor, values: Tensor) -> bool:
    """Write what was found; False where something else was, or is, to be there."""
    before = into[places]
    into[places] = values
    return bool(((before < 0) | (before == values)).all() and (into[places] == values).all())


def equals_task(found: Spelling, situations: Situations, oracle: Callable[[Tensor], Tensor]) -> bool:
    """Whether words spell what they do in the task, and multiply so; `oracle` labels tokens (B, T) with (B, T)."""
    classes, words = len(found.table), torch.arange(situations.words)
    one = oracle(spelt(words, situations))
    right = torch.equal(one[:, -1], found.elements) and bool((one[:, :-1] == found.identity).all())
    for_each = torch.stack([(found.elements == x).nonzero()[0, 0] for x in range(classes)])
    second, first = torch.cartesian_prod(for_each, for_each).unbind(1)
    two = oracle(torch.cat([spelt(first, situations), spelt(second, situations)], dim=1))
    return right and torch.equal(two[:, -1], found.table.flatten())
