"""How often the report's intervals contain the truth: by enumeration for a rate, by simulation for a median."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mingru.report.medians import median_interval
from mingru.report.two_by_two import chances

RATES = np.linspace(0.0005, 0.9995, 1999)
SAMPLES = 4_000

# Draws whose median is known: what accuracies look like near a middle, near 1, and in two groups of seeds.
SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], NDArray], float]] = {
    "normal": (lambda generator, n: generator.normal(size=n), 0.0),
    "skewed": (lambda generator, n: 1 - generator.exponential(size=n), 1 - float(np.log(2))),
    "two groups": (lambda generator, n: generator.normal(size=n, scale=0.1) + np.where(generator.random(n) < 0.65, 1, 0), None),
}


def of_rate(interval: Callable[[NDArray, int], tuple[NDArray, NDArray]], n: int, rates: NDArray = RATES) -> NDArray:
    """The chance, at each true rate, that the interval from n runs contains it: all n + 1 outcomes are weighed."""
    low, high = interval(np.arange(n + 1), n)
    inside = (low <= rates[:, None]) & (rates[:, None] <= high)
    return (chances(n, rates) * inside).sum(1)


def of_median(shape: str, n: int, samples: int = SAMPLES) -> float:
    """The share of simulated samples of n whose bootstrap interval contains the median."""
    draw, median = SHAPES[shape]
    generator = np.random.default_rng([n, len(shape)])
    if median is None:
        median = float(np.median(draw(np.random.default_rng(0), 2_000_001)))
    found = (median_interval(draw(generator, n))[1:] for _ in range(samples))
    return float(np.mean([low <= median <= high for low, high in found]))
