"""How many seeds a comparison needs, by enumeration of every outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mingru.report import fisher, sequential
from mingru.report.two_by_two import TIE, chances, fisher_table

MOST_SEEDS = 400


@dataclass(frozen=True)
class Plan:
    """Seeds per arm for Fisher's test at `level`, and what the numbers around it would do."""

    comparisons: int
    level: float
    seeds: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Row:
    """One number of seeds per arm: the smallest p it can give, that p in Holm's worst case, the power."""

    seeds: int
    smallest_p: float
    smallest_corrected: float
    power: float


@dataclass(frozen=True)
class SequentialPlan:
    """A sweep that stops when the comparison is significant, or at `seeds` per arm."""

    seeds: int
    power: float
    expected_seeds: float
    expected_seeds_under_null: float


def comparisons(arms: int, baseline: bool = False) -> int:
    """How many pairs a family of `arms` has: all, or all against a baseline."""
    return arms - 1 if baseline else arms * (arms - 1) // 2


def power(n: int, p1: float, p2: float, level: float) -> float:
    """Chance that n seeds of each arm give a two-sided Fisher p of at most `level`, over all (n + 1)^2 outcomes."""
    significant = fisher_table(n, n) <= level * TIE
    return float(_chances(n, p1) @ significant @ _chances(n, p2))


def _chances(n: int, rate: float) -> np.ndarray:
    if rate in (0, 1):
        return np.eye(n + 1)[n if rate else 0]
    return chances(n, rate)


def seeds_needed(p1: float, p2: float, wanted: float, level: float, most: int = MOST_SEEDS) -> int:
    """The smallest n from which on the power stays at `wanted`: it is no smooth function of n and can fall back.

    Raises ValueError when `most` seeds per arm are not enough.
    """
    if power(most, p1, p2, level) < wanted:
        raise ValueError(f"rates {p1:g} and {p2:g}: {most} seeds per arm do not reach a power of {wanted:g} at level {level:.3g}")
    reached = most
    for n in range(1, most + 1):
        if power(n, p1, p2, level) < wanted:
            reached = most
        elif reached == most:
            reached = n
        # the falls are a few hundredths, and the power has grown by more than that since
        elif n > 1.3 * reached + 10:
            break
    return reached


def plan(p1: float, p2: float, wanted: float, arms: int = 2, baseline: bool = False, alpha: float = fisher.ALPHA) -> Plan:
    """Seeds per arm at alpha / m, Holm's worst case: the comparison that has to pass first of m.

    Raises ValueError for rates outside [0, 1], equal rates, fewer than two arms, or a power that is out of reach.
    """
    for name, rate in (("p1", p1), ("p2", p2)):
        if not 0 <= rate <= 1:
            raise ValueError(f"{name}={rate:g}: a rate lies between 0 and 1")
    if p1 == p2:
        raise ValueError(f"p1={p1:g} and p2={p2:g}: no number of seeds tells equal rates apart")
    if arms < 2:
        raise ValueError(f"arms={arms}: a comparison needs two")
    if not 0 < wanted < 1 or not 0 < alpha < 1:
        raise ValueError(f"power={wanted:g}, alpha={alpha:g}: both lie between 0 and 1")
    m = comparisons(arms, baseline)
    level = alpha / m
    needed = seeds_needed(p1, p2, wanted, level)
    shown = sorted({3, 5, 8, 12, 24, 36, needed})
    return Plan(m, level, needed, tuple(_row(n, m, p1, p2, level) for n in shown))


def _row(n: int, m: int, p1: float, p2: float, level: float) -> Row:
    smallest = fisher.smallest_p(n, n)
    return Row(n, smallest, min(1.0, m * smallest), power(n, p1, p2, level))


def sequential_sizes(fixed: int) -> tuple[int, ...]:
    """Upper limits worth looking at beside a fixed number of seeds: the same, half as many again, twice as many."""
    return fixed, round(1.5 * fixed), 2 * fixed


def plan_sequential(p1: float, p2: float, level: float, seeds: int) -> SequentialPlan:
    """What `stop=significant` does with at most `seeds` per arm, exactly: every path of counts is followed."""
    reached, expected = _follow(p1, p2, level, seeds)
    middle = (p1 + p2) / 2
    return SequentialPlan(seeds, reached, expected, _follow(middle, middle, level, seeds)[1])


def _follow(p1: float, p2: float, level: float, seeds: int) -> tuple[float, float]:
    """Chance to have stopped within `seeds` pairs, and the expected number of pairs."""
    going = np.ones((1, 1))
    stopped = expected = 0.0
    for n in range(1, seeds + 1):
        grown = np.zeros((n + 1, n + 1))
        for a, chance_a in ((0, 1 - p1), (1, p1)):
            for b, chance_b in ((0, 1 - p2), (1, p2)):
                grown[a : a + n, b : b + n] += chance_a * chance_b * going
        ends = sequential.evidence_table(n) >= 1 / level
        now = float(grown[ends].sum())
        stopped += now
        expected += n * now
        going = np.where(ends, 0.0, grown)
    return stopped, expected + seeds * (1 - stopped)
