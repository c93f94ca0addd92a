"""What hardening puts in a layer's place: orbits where its states were, and the maps between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from mingru.analysis.maps import Maps
from mingru.analysis.orbit import Orbit, held, nearest_orbit
from mingru.analysis.rest import Answers

# Lengths of the words over which states are averaged. Longer ones leave less of what a block remembers of single tokens, and shorter ones
# more of what it slowly loses: the longest is taken whose hardened model answers with nearly the widest margin.
WORDS = (64, 16, 4)
NEARLY = 0.9
# A block with less than this share is held.
CARRIES = 0.01


@dataclass(frozen=True)
class ExactLayer:
    """The `exact` maps and `states`, one Orbit per block, and the `share` of each block's variance, over words of `word` tokens, that the
    product explains. `answers` is what the network makes of the exact states.
    """

    exact: Maps
    states: Tensor
    orbits: list[Orbit]
    share: Tensor
    word: int
    answers: Answers

    @property
    def right(self) -> bool:
        return self.answers.wrong == 0

    def moves(self) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Each input of the layer, the states that it finds and those that it should make of them, (n, N, K) each."""
        raise NotImplementedError(f"{type(self).__name__} does not define moves")


Layer = TypeVar("Layer", bound=ExactLayer)


def nearly_widest(found: Sequence[Layer]) -> Layer:
    """Of layers from words of several lengths, the longest first, the first that answers with nearly the widest margin."""
    widest = max(layer.answers.margin for layer in found)
    return next(layer for layer in found if layer.answers.margin >= min(widest, NEARLY * widest))


def orbits_next_to(means: Tensor, share: Tensor, table: Tensor) -> list[Orbit]:
    """Of each block the orbit next to its mean states (c, n, N, K), or their mean where they tell nothing of the product."""
    blocks = zip(means.unbind(2), share >= CARRIES, strict=True)
    return [nearest_orbit(given, table) if carries else held(given) for given, carries in blocks]
