"""Confidence intervals for a counted rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

LEVEL = 0.95


def clopper_pearson(successes: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[NDArray, NDArray]:
    """Exact interval of a binomial rate (Clopper and Pearson 1934, Biometrika 26:404); (nan, nan) where n is 0.

    It covers the true rate with at least the stated probability at every rate and n, never less.
    """
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    if np.any((k < 0) | (k > n)):
        raise ValueError(f"clopper_pearson: successes {successes} must lie between 0 and n = {n}")
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k == 0, 0.0, beta.ppf(tail, k, n - k + 1))
        high = np.where(k == n, 1.0, beta.ppf(1 - tail, k + 1, n - k))
    return np.where(n == 0, np.nan, low), np.where(n == 0, np.nan, high)
