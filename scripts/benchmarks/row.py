"""One line of the benchmark's table, and what it is to reach."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Reach:
    relation: Literal["≥", "≤", "<"]
    value: float

    def holds(self, measured: float) -> bool:
        return {"≥": measured >= self.value, "≤": measured <= self.value, "<": measured < self.value}[self.relation]


def at_least(value: float) -> Reach:
    return Reach("≥", value)


def at_most(value: float) -> Reach:
    return Reach("≤", value)


def below(value: float) -> Reach:
    return Reach("<", value)


@dataclass(frozen=True)
class Point:
    """A dot of a plot: the median time of one side of a row, divided by `per` tokens."""

    figure: Literal["length", "state"]
    curve: str
    x: int
    side: Literal[0, 1]
    per: int


@dataclass
class Row:
    """`values` holds one number per pair; empty where nothing could be measured, and `note` says why.

    `seconds` are the medians of both sides for one iteration, or None where a side is no time. `unit` is empty for a ratio.
    """

    measure: str
    values: list[float] = field(default_factory=list)
    unit: str = ""
    seconds: tuple[float, float] | None = None
    threads: int | None = None
    reach: Reach | None = None
    note: str = ""
    points: tuple[Point, ...] = ()
    suite: str = ""
    failed: bool = False

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None

    @property
    def reached(self) -> bool | None:
        """None where there is nothing to reach, or nothing was measured."""
        return self.reach.holds(self.median) if self.reach and self.values else None

    def record(self) -> dict[str, Any]:
        extremes = {"low": min(self.values), "high": max(self.values)} if self.values else {}
        return {**asdict(self), "median": self.median, **extremes, "reached": self.reached}
