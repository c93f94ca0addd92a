"""Every outcome of two counted arms at once: Fisher's p of each, and Boschloo's test, which needs them all."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

# Outcomes whose probabilities agree to rounding are equally likely; R's fisher.test draws the line here.
TIE = 1 + 1e-7
# Rates above a half give the same chances as those below: counting fits or non-fits, the same outcomes are extreme.
GRID = np.linspace(0.002, 0.5, 250)


@lru_cache(maxsize=512)
def fisher_table(n_a: int, n_b: int) -> NDArray:
    """Two-sided p of Fisher's exact test for every (fits of a, fits of b); shape (n_a + 1, n_b + 1)."""
    table = np.ones((n_a + 1, n_b + 1))
    for fits in range(n_a + n_b + 1):
        a = np.arange(max(0, fits - n_b), min(n_a, fits) + 1)
        likely = np.exp(log_choose(n_a, a) + log_choose(n_b, fits - a) - log_choose(n_a + n_b, fits))
        ordered = np.sort(likely)
        # the small ones first, so that a p of 1e-20 keeps its digits
        no_likelier = np.searchsorted(ordered, likely * TIE, side="right")
        table[a, fits - a] = np.minimum(1.0, np.cumsum(ordered)[no_likelier - 1])
    return table


def chances(n: int, rate: float | NDArray) -> NDArray:
    """Binomial probability of 0..n fits at each rate, a rate strictly between 0 and 1; the last axis is the fits."""
    k, rate = np.arange(n + 1), np.asarray(rate)[..., None]
    return np.exp(log_choose(n, k) + k * np.log(rate) + (n - k) * np.log1p(-rate))


@lru_cache(maxsize=256)
def _grid_chances(n: int) -> NDArray:
    return chances(n, GRID)


def log_choose(n: int, k: NDArray | int) -> NDArray:
    """Logarithm of the number of ways to choose k of n."""
    return _log_choose_all(n)[k]


@lru_cache(maxsize=2_048)
def _log_choose_all(n: int) -> NDArray:
    k = np.arange(n + 1)
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


@cache
def boschloo(fits_a: int, n_a: int, fits_b: int, n_b: int) -> float:
    """Boschloo's two-sided p: the chance, at the least favourable common rate, of an outcome with no larger Fisher p.

    Never larger than Fisher's p, and exact all the same. NaN where a side has no runs.
    Source: Boschloo 1970, Statistica Neerlandica 24:1; two-sided with Fisher's two-sided p as the ordering.
    """
    if n_a == 0 or n_b == 0:
        return float("nan")
    table = fisher_table(n_a, n_b)
    extreme = (table <= table[fits_a, fits_b] * TIE).astype(float)

    def chance(rate: float) -> float:
        return float(chances(n_a, rate) @ extreme @ chances(n_b, rate))

    on_grid = ((_grid_chances(n_a) @ extreme) * _grid_chances(n_b)).sum(-1)
    best = int(on_grid.argmax())
    around = (GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)])
    refined = minimize_scalar(lambda rate: -chance(rate), bounds=around, method="bounded", options={"xatol": 1e-7})
    return min(1.0, max(float(on_grid[best]), -float(refined.fun)))
