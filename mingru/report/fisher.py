"""Pairwise comparison of fit rates: Fisher's exact test, corrected by Holm within a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import fisher_exact

ALPHA = 0.05


@dataclass(frozen=True)
class Count:
    """Fits among the counted runs of one cell."""

    label: str
    fits: int
    n: int

    def __str__(self) -> str:
        return f"{self.fits}/{self.n}"


@dataclass(frozen=True)
class Comparison:
    """Two cells of a family. `p` is NaN where a cell has no data; `p_holm` is corrected over the family's other pairs.

    `reachable` is false where no outcome at these n could bring the corrected p to 0.05.
    """

    first: Count
    second: Count
    p: float
    p_holm: float
    reachable: bool

    @property
    def verdict(self) -> str:
        if self.first.n == 0 or self.second.n == 0:
            return "no data"
        if not self.reachable:
            return f"cannot reach {ALPHA:g}".replace("0.", ".") + " at this n"
        if self.undefined:
            return "no difference to test"
        return "differ" if self.p_holm <= ALPHA else "not shown to differ"

    @property
    def undefined(self) -> bool:
        """Every run fits, or none does: the table has an empty margin and says nothing about a difference."""
        fits, n = self.first.fits + self.second.fits, self.first.n + self.second.n
        return n == 0 or fits in (0, n)


@cache
def fisher(fits_a: int, n_a: int, fits_b: int, n_b: int) -> float:
    """Two-sided p of Fisher's exact test; NaN where a side has no runs."""
    if n_a == 0 or n_b == 0:
        return float("nan")
    return float(fisher_exact([[fits_a, n_a - fits_a], [fits_b, n_b - fits_b]]).pvalue)


def smallest_p(n_a: int, n_b: int) -> float:
    """The smallest p that these numbers of runs can give: all fit on one side, none on the other."""
    return min(fisher(n_a, n_a, 0, n_b), fisher(0, n_a, n_b, n_b)) if n_a and n_b else float("nan")


def holm(p: ArrayLike) -> NDArray:
    """Holm's step-down correction (1979, Scand. J. Statist. 6:65): m times the smallest p, m-1 times the next, never decreasing.

    A NaN is no comparison: it stays NaN and does not count into m.
    """
    p = np.asarray(p, float)
    adjusted = np.full(p.shape, np.nan)
    order = [i for i in np.argsort(p, kind="stable") if not np.isnan(p[i])]
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p[i]))
        adjusted[i] = highest
    return adjusted


def pairs(labels: Sequence[str], baseline: str | None = None) -> list[tuple[int, int]]:
    """All pairs of a family, or every cell against the baseline."""
    if baseline is None:
        return list(combinations(range(len(labels)), 2))
    base = list(labels).index(baseline)
    return [(i, base) for i in range(len(labels)) if i != base]


def compare(counts: Sequence[Count], baseline: str | None = None) -> list[Comparison]:
    """Every comparison of one family, corrected together."""
    chosen = [(counts[i], counts[j]) for i, j in pairs([count.label for count in counts], baseline)]
    p = [fisher(a.fits, a.n, b.fits, b.n) for a, b in chosen]
    # Holm's p grows with each raw p, so no outcome can do better than all pairs at their smallest
    best = holm([smallest_p(a.n, b.n) for a, b in chosen])
    corrected = holm(p)
    return [Comparison(a, b, p[i], float(corrected[i]), bool(best[i] <= ALPHA)) for i, (a, b) in enumerate(chosen)]
