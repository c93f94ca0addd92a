"""Two sides timed in turn, so that a drift of the machine falls on both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

# An iteration that takes this long needs no warm one before it.
LONG = 0.5
MOST_ITERATIONS = 100_000


class Side(Protocol):
    def seconds(self, iterations: int, warm: int) -> float:
        """Wall-clock seconds of `iterations` iterations, after `warm` that are not timed."""


def interleaved(over: Side, under: Side, pairs: int, sample: float, done: Callable[[], None]) -> list[tuple[float, float]]:
    """Seconds per iteration of both sides, pair by pair; which side goes first alternates.

    Each time is the mean of as many iterations as take `sample` seconds. `done` is called between pairs, while nothing is timed.
    """
    sides = (over, under)
    counts = [iterations_for(side, sample) for side in sides]
    found = []
    for number in range(pairs):
        times = [0.0, 0.0]
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            iterations, warm = counts[which]
            times[which] = sides[which].seconds(iterations, warm) / iterations
        found.append((times[0], times[1]))
        done()
    return found


def iterations_for(side: Side, sample: float) -> tuple[int, int]:
    """How many iterations take about `sample` seconds, and how many warm ones go before them."""
    # The first compiles, allocates and loads.
    side.seconds(1, 0)
    iterations, taken = 1, side.seconds(1, 0)
    while taken < sample / 10 and iterations < MOST_ITERATIONS:
        iterations *= 4
        taken = side.seconds(iterations, 0)
    each = max(taken / iterations, 1e-9)
    return min(max(math.ceil(sample / each), 1), MOST_ITERATIONS), int(each < LONG)
