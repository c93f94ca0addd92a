"""How long a cell takes to fit: Kaplan-Meier curves and the log-rank test, by statsmodels.

The event is the first validation at or above the bar. A run that never fits is censored at its last step, and so is one
that diverged: it would not have fitted later.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import inf, nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from mingru.report.intervals import LEVEL


@dataclass(frozen=True)
class Curve:
    """The share of runs not yet fitting after each step at which some fitted. `median` is inf where half never do."""

    steps: NDArray
    unfitted: NDArray
    median: float
    low: float
    high: float
    events: int
    n: int


def times(runs: pd.DataFrame) -> tuple[NDArray, NDArray]:
    """Step of the event or of censoring, and which of the two, for every run with a known number of steps."""
    steps, fit_at = runs["steps"].to_numpy(float), runs["steps_to_fit"].to_numpy(float)
    fitted = (runs["status"].to_numpy() == "finished") & ~np.isnan(fit_at)
    known = ~np.isnan(steps)
    return np.where(fitted, fit_at, steps)[known], fitted[known].astype(int)


def kaplan_meier(runs: pd.DataFrame) -> Curve:
    """The curve of one cell, its median and the median's 95 % interval: where the curve's log-log limits cross a half."""
    from statsmodels.duration.survfunc import SurvfuncRight

    steps, fitted = times(runs)
    if not fitted.any():
        return Curve(np.array([]), np.array([]), inf if len(steps) else nan, nan, nan, 0, len(steps))
    with np.errstate(all="ignore"):
        curve = SurvfuncRight(steps, fitted)
        log = np.log(curve.surv_prob)
        spread = ndtri((1 + LEVEL) / 2) * curve.surv_prob_se / (curve.surv_prob * np.abs(log))
        lower, upper = (curve.surv_prob ** np.exp(sign * spread) for sign in (1, -1))
    median, low, high = (_half(curve.surv_times, share) for share in (curve.surv_prob, lower, upper))
    if low > median:
        # From all runs unfitted to none in one step: the limits are undefined there, as R has it.
        low = high = nan
    return Curve(curve.surv_times, curve.surv_prob, median, low, high, int(fitted.sum()), len(steps))


def _half(steps: NDArray, unfitted: NDArray) -> float:
    """The first step at which at most half are unfitted, or inf; midway to the next where exactly half are, as R has it."""
    at_most_half = np.flatnonzero(unfitted <= 0.5 + 1e-12)
    if not len(at_most_half):
        return inf
    first = at_most_half[0]
    if abs(unfitted[first] - 0.5) > 1e-12:
        return float(steps[first])
    after = steps[first + 1] if first + 1 < len(steps) else inf
    return float((steps[first] + after) / 2)


def log_rank(a: tuple[NDArray, NDArray], b: tuple[NDArray, NDArray]) -> float:
    """Two-sided p that both cells take equally long, from their `times`.

    NaN where one is empty, neither ever fits, or all fit at one step: then there is nothing to compare.
    """
    from statsmodels.duration.survfunc import survdiff

    (steps_a, fitted_a), (steps_b, fitted_b) = a, b
    if not len(steps_a) or not len(steps_b) or not (fitted_a.any() or fitted_b.any()):
        return nan
    group = np.repeat([0, 1], [len(steps_a), len(steps_b)])
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
        return float(survdiff(np.r_[steps_a, steps_b], np.r_[fitted_a, fitted_b], group)[1])
    return nan
