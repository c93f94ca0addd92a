"""The kinds of rows that suites are made of."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Protocol

from scripts.benchmarks.pairs import interleaved
from scripts.benchmarks.row import Point, Reach, Row
from scripts.benchmarks.session import Session, Work


class Measure(Protocol):
    measure: str
    reach: Reach | None

    def row(self, session: Session) -> Row:
        """Measured now. WorkError where it cannot be."""


@dataclass(frozen=True)
class Ratio:
    """Time of `over` / time of `under`, times `scale`."""

    measure: str
    over: Work
    under: Work
    reach: Reach | None = None
    scale: float = 1.0
    # Fewer than the benchmark's own, where one pair takes very long.
    pairs: int | None = None
    points: tuple[Point, ...] = ()

    def row(self, session: Session) -> Row:
        found, threads = sampled(self.over, self.under, session, self.pairs)
        values = [self.scale * over / under for over, under in found]
        return Row(self.measure, values, "", medians(found), threads, self.reach, points=self.points)


@dataclass(frozen=True)
class Difference:
    """Time of `over` minus time of `under`, in milliseconds an iteration."""

    measure: str
    over: Work
    under: Work
    reach: Reach | None = None

    def row(self, session: Session) -> Row:
        found, threads = sampled(self.over, self.under, session)
        return Row(self.measure, [1e3 * (over - under) for over, under in found], "ms", medians(found), threads, self.reach)


@dataclass(frozen=True)
class Quotient:
    """What `work` returns: no time, but a ratio of its own, once per repeat."""

    measure: str
    work: Work
    reach: Reach | None = None

    def row(self, session: Session) -> Row:
        values = session.call(self.work)
        session.done()
        return Row(self.measure, values, "", None, session.threads(self.work), self.reach)


@dataclass(frozen=True)
class Missing:
    """A row of the table that cannot be measured here, and why."""

    measure: str
    why: str
    reach: Reach | None = None

    def row(self, session: Session) -> Row:
        return Row(self.measure, reach=self.reach, note=self.why)


def sampled(over: Work, under: Work, session: Session, pairs: int | None = None) -> tuple[list[tuple[float, float]], int]:
    options = session.options
    sides = session.side(over), session.side(under)
    found = interleaved(*sides, min(pairs or options.pairs, options.pairs), options.sample, session.done)
    return found, session.threads(over)


def medians(found: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(over for over, _ in found), statistics.median(under for _, under in found)
