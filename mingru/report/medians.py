"""Median with a bootstrap interval, computed and not resampled."""

from __future__ import annotations

from functools import cache
from math import comb, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from mingru.report.intervals import LEVEL

FEWEST = 8


def median_interval(values: ArrayLike, level: float = LEVEL) -> tuple[float, float, float]:
    """The median and its percentile bootstrap interval; (median, nan, nan) below 8 values, where it would mislead.

    The bootstrap distribution of a median is known exactly (Efron 1979, Ann. Statist. 7:1), so this is the limit of
    infinitely many resamples: the same numbers every time. Its coverage stands in docs/statistics.md.
    """
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    if n == 0:
        return nan, nan, nan
    if n < FEWEST:
        return float(np.median(ordered)), nan, nan
    first, second, weights = bootstrap_medians(n)
    medians = (ordered[first] + ordered[second]) / 2
    order = np.argsort(medians, kind="stable")
    reached = np.cumsum(weights[order])
    low, high = (medians[order][np.searchsorted(reached, tail)] for tail in ((1 - level) / 2, (1 + level) / 2))
    return float(np.median(ordered)), float(low), float(high)


@cache
def bootstrap_medians(n: int) -> tuple[NDArray, NDArray, NDArray]:
    """Ranks of the two values whose mean is a resample's median, and the probability of each such pair."""
    i = np.arange(1, n + 1)
    if n % 2:
        at_most = binom.sf(n // 2, n, np.arange(n + 1) / n)
        return i - 1, i - 1, np.diff(at_most)
    half = n // 2
    # lower half among the i smallest with at least one i-th, upper half among those from the j-th on with at least one j-th
    lower = (i / n) ** half - ((i - 1) / n) ** half
    upper = ((n - i + 1) / n) ** half - ((n - i) / n) ** half
    apart = np.triu(comb(n, half) * np.outer(lower, upper), 1)
    # the upper of the two is the i-th smallest
    upper_is = np.diff(binom.sf(half, n, np.arange(n + 1) / n))
    together = upper_is - apart.sum(0)
    first, second = np.meshgrid(i - 1, i - 1, indexing="ij")
    weights = apart + np.diag(together)
    keep = weights > 0
    return first[keep], second[keep], weights[keep]
