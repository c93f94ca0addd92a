"""Retry-on-flag as an analysis: what "retrain with a new seed until validation is perfect" would give, from runs in hand.

A try is flagged when its best validation accuracy is below 1. With at most r tries, the first unflagged one is kept; if all r are
flagged, the one that validated best. Drawing tries from the runs of a cell, with replacement, everything has a closed form.
The rule is a documented practice of the reference ladder, the published package mingru-scans, where nothing computes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, reduce
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mingru.report.intervals import LEVEL
from mingru.report.medians import FEWEST
from mingru.report.scores import by_length

TRIES = (1, 2, 3, 5)
RESAMPLES = 1_000


@dataclass(frozen=True)
class Expected:
    """A mean with its percentile bootstrap interval over the runs; NaN limits below 8 runs."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Retry:
    """What at most `tries` tries give: the score at each length, the number of runs trained, the chance of an unflagged end."""

    tries: int
    runs: Expected
    unflagged: Expected
    scores: Mapping[int, Expected]


def retries(runs: pd.DataFrame, chance: Mapping[int, float]) -> list[Retry]:
    """The rule at 1, 2, 3 and 5 tries, from the counted runs of one cell; [] where accuracies are not known.

    A run without scores diverged: it is flagged, validates worst and scores `chance`.
    """
    if runs.empty or (runs["measure"] == "error").any():
        return []
    ordered = runs.assign(validation=runs["selected"].astype(float).where(runs["scores"].map(bool)).fillna(0.0))
    ordered = ordered.sort_values("validation", kind="stable")
    validation = ordered["validation"].to_numpy()
    known = by_length(run or chance for run in ordered["scores"])
    scores = {n: values for n, values in known.items() if len(values) == len(ordered)}
    share = _resamples(len(ordered))
    flagged = share[:, validation < 1].sum(1).clip(0, 1)
    outcomes = []
    for tries in TRIES:
        kept = kept_chances(validation, share, tries)
        outcomes += [sum(flagged**k for k in range(tries)), 1 - flagged**tries, *(kept @ values for values in scores.values())]
    expected = iter(_expected(np.array(outcomes)))
    return [Retry(tries, runs=next(expected), unflagged=next(expected), scores={n: next(expected) for n in scores}) for tries in TRIES]


@cache
def _resamples(n: int) -> NDArray:
    """The share of each of n runs, a row per resample: the runs as they are first, then the bootstrap (none below 8 runs)."""
    itself = np.full((1, n), 1 / n)
    if n < FEWEST:
        return itself
    generator = np.random.default_rng(n)
    return np.vstack([itself, generator.multinomial(n, itself[0], size=RESAMPLES) / n])


def kept_chances(validation: NDArray, share: NDArray, tries: int) -> NDArray:
    """The chance that each run is the one kept; `validation` ascending, `share` how often a try is that run."""
    _, first = np.unique(np.minimum(validation, 1), return_index=True)
    of_value = np.add.reduceat(share, first, axis=1)
    # the best of r tries validates this well; or, unflagged: not all r tries are flagged
    share_at_most = np.cumsum(of_value, axis=1).clip(0, 1)
    # products, because a power of an array takes ten times as long
    at_most = reduce(np.multiply, [share_at_most] * tries)
    chance = np.diff(at_most, axis=1, prepend=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(of_value > 0, chance / of_value, 0)
    return share * np.repeat(weight, np.diff([*first, len(validation)]), axis=1)


def _expected(values: NDArray) -> list[Expected]:
    """Of each row the first entry, and the interval of the others."""
    if values.shape[1] == 1:
        return [Expected(float(value), nan, nan) for value in values[:, 0]]
    lows, highs = np.quantile(values[:, 1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    return [Expected(float(value), float(low), float(high)) for value, low, high in zip(values[:, 0], lows, highs, strict=True)]
