"""Scores of many runs, by test length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray


def by_length(scores: Iterable[Mapping[int, float]]) -> dict[int, NDArray]:
    """{64: every run's score at 64, ...} in ascending length; a run without a score at a length is left out there."""
    found: dict[int, list[float]] = defaultdict(list)
    for run in scores:
        for length, score in run.items():
            found[length].append(score)
    return {length: np.array(found[length]) for length in sorted(found)}


def mean_by_length(scores: Iterable[Mapping[int, float]]) -> tuple[dict[int, float], dict[int, int]]:
    """Mean score of each length and how many runs have one; a diverged run may have none."""
    known = by_length(scores)
    return {n: float(values.mean()) for n, values in known.items()}, {n: len(values) for n, values in known.items()}
