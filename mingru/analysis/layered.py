"""A trained model of several layers made exact: its extractor held, and its last layer a finite machine or an exact representation."""

from __future__ import annotations

from dataclasses import dataclass

from mingru.analysis.answers import Spelling
from mingru.analysis.gauge import Gauge, harden_gauge
from mingru.analysis.held import Held, begin_midway, moved_by
from mingru.analysis.machine import Machine, explore, only_moves
from mingru.analysis.rest import Answers
from mingru.stack import Stack


@dataclass(frozen=True)
class Layered:
    """The hardened stack, and what was found: of a last layer that only moves its state a machine, of one that computes a gauge.

    `carriers` are the blocks of a flat model that are not held at their mean.
    """

    held: Held
    spelling: Spelling
    stack: Stack
    machine: Machine | None
    gauge: Gauge | None
    carriers: tuple[int, ...] | None = None

    @property
    def answers(self) -> Answers:
        return (self.machine or self.gauge).answers

    @property
    def right(self) -> bool:
        """Whether every answer that the hardened stack can give is the product so far, rounding allowed for."""
        return self.answers.right


def harden_layered(held: Held, spelling: Spelling, length: int) -> Layered:
    """The exact model next to this one, for the group that it was read to track."""
    if only_moves(held.learned):
        begun = begin_midway(held, length)
        return Layered(begun, spelling, begun.stack, explore(begun, spelling), None)
    gauge = harden_gauge(held, spelling)
    return Layered(held, spelling, moved_by(held.stack, gauge.exact), None, gauge)
