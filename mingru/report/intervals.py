"""Confidence intervals of a counted rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

LEVEL = 0.95


def clopper_pearson(successes: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[NDArray, NDArray]:
    """Exact interval of a binomial rate (Clopper and Pearson 1934, Biometrika 26:404); (nan, nan) where n is 0.

    It covers the true rate with at least the stated probability at every rate and n, never less.
    """
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    if np.any((k < 0) | (k > n)):
        raise ValueError(f"clopper_pearson: successes {successes} must lie between 0 and n = {n}")
    tail = (1 - level) / 2
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail))
    return np.where(n == 0, np.nan, low), np.where(n == 0, np.nan, high)


def wilson(successes: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[NDArray, NDArray]:
    """Score interval of a binomial rate (Wilson 1927, JASA 22:209); (nan, nan) where n is 0.

    Shorter than the exact one; it covers the true rate about as often as stated on average over the rates, and less
    often at some of them.
    """
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(n, float))
    z = ndtri((1 + level) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = k / n
        middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    # rounding would leave 1e-17 where the limit is exactly 0 or 1
    return np.where(k == 0, 0.0, middle - half) + 0 * rate, np.where(k == n, 1.0, middle + half) + 0 * rate
