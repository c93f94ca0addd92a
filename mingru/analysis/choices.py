"""What the blocks of selections without injection have become: finite machines, told by the states that they are seen in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from mingru.mixers.selection import Selection
from mingru.stack import Stack

WARM_UP = 128
# Beside a run's record (scripts/choices.py writes it).
FILE = "choices.json"


@dataclass(frozen=True)
class Block:
    """`alive` entries of the start are still apart at the end of a sequence, of the one that has most; `states` are seen at positions
    0, 1, ... modulo the period.

    `common` are those seen at more than one of these: a block that has none of them counts the period.
    """

    alive: int
    states: list[int]
    common: int

    @property
    def counts(self) -> bool:
        return len(self.states) > 1 and self.common == 0

    @property
    def is_clock(self) -> bool:
        """It counts, and tells nothing else."""
        return self.counts and max(self.states) == 1


@torch.inference_mode()
def blocks(stack: Stack, tokens: Tensor, period: int) -> dict[int, list[Block]]:
    """The blocks of each selection without injection, by layer, over sequences (B, T); the first WARM_UP positions are not looked at.

    ValueError when that leaves no whole period.
    """
    if tokens.shape[1] < WARM_UP + period:
        raise ValueError(f"choices: sequences of {WARM_UP + period} tokens or more are wanted, got {tokens.shape[1]}")
    found: dict[int, list[Block]] = {}
    handles = []
    for layer, block in enumerate(stack.blocks):
        if isinstance(block.mixer, Selection) and "gate" not in block.mixer.projection.widths:

            def look(mixer: Selection, _: Any, result: tuple[Tensor, Tensor], layer: int = layer) -> None:
                states = result[0].unflatten(-1, mixer.state_shape)
                found[layer] = [account(states[:, :, n], period) for n in range(mixer.state_shape[0])]

            handles.append(block.mixer.register_forward_hook(look))
    try:
        stack(tokens)
    finally:
        for handle in handles:
            handle.remove()
    return found


def account(states: Tensor, period: int) -> Block:
    """One block's states (B, T, K)."""
    first = -(-WARM_UP // period) * period
    seen = [{tuple(state) for state in states[:, first + phase :: period].flatten(0, 1).tolist()} for phase in range(period)]
    several = {state for state in set.union(*seen) if sum(state in each for each in seen) > 1}
    return Block(max(apart(entries) for entries in states[:, -1]), [len(each) for each in seen], len(several))


def apart(state: Tensor) -> int:
    """How many entries of the start one block's state (K,) still tells apart.

    Where some have met, the column form has their sum once and zeros, and the row form one of them several times.
    """
    return len(set(state.tolist()) - {0.0})


def as_record(found: dict[int, list[Block]]) -> dict[str, Any]:
    return {"layers": [{"layer": layer, "blocks": [asdict(block) for block in each]} for layer, each in found.items()]}
