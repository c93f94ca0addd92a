"""When may a sweep stop? A test that stays valid however often one looks and whenever one stops.

Two arms are compared seed by seed: the i-th seed of one with the i-th of the other. The evidence for a difference after n
pairs is the likelihood of the counts under two rates over that under their mean, averaged over the pairs of rates
that differ by a quarter or more (a smaller difference counts too, it only takes longer to be seen):

    E(n) = mean over (a, b) of  (a/c)^k_a ((1-a)/(1-c))^(n-k_a) (b/c)^k_b ((1-b)/(1-c))^(n-k_b),   c = (a + b) / 2

If the two rates are equal, E has mean at most 1 at every n and may exceed 1/alpha at any time with probability at most
alpha (Ville's inequality), so 1 / max E is a p-value at any stopping time. Holm's correction holds for it as for any p.
Source: Turner, Ly and Gruenwald 2024, "Generic E-variables for exact sequential k-sample tests that allow for optional
stopping", J. Stat. Plan. Inference 230:106116; here with a uniform prior on those pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mingru.report.fisher import ALPHA, holm, pairs

NODES = 32
DIFFERENCE = 0.25


@dataclass(frozen=True)
class Pair:
    """One comparison so far. `boundary` is the evidence at which it would be significant now, given the others."""

    first: str
    second: str
    n: int
    evidence: float
    p: float
    p_holm: float
    boundary: float
    significant: bool


@dataclass(frozen=True)
class Decision:
    """`stop` when every comparison is significant; `done` are the arms whose own comparisons all are."""

    stop: bool
    done: frozenset[str]
    pairs: tuple[Pair, ...]


@cache
def _log_ratios() -> NDArray:
    """log a/c, log (1-a)/(1-c), log b/c, log (1-b)/(1-c) for each pair of rates; shape (4, pairs of rates)."""
    rates = (np.arange(NODES) + 0.5) / NODES
    a, b = (axis.ravel() for axis in np.meshgrid(rates, rates))
    apart = np.abs(a - b) >= DIFFERENCE
    a, b = a[apart], b[apart]
    middle = (a + b) / 2
    return np.log([a / middle, (1 - a) / (1 - middle), b / middle, (1 - b) / (1 - middle)])


def evidence_table(n: int) -> NDArray:
    """E after n pairs for every (fits of a, fits of b)."""
    fits = np.arange(n + 1)
    counts, ratios = np.stack([fits, n - fits], axis=1), _log_ratios()
    return np.exp(counts @ ratios[:2]) @ np.exp(counts @ ratios[2:]).T / ratios.shape[1]


def evidence(fits_a: Sequence[bool], fits_b: Sequence[bool]) -> NDArray:
    """E after each pair; as long as the shorter of the two, whose seeds are in one order."""
    n = min(len(fits_a), len(fits_b))
    k_a, k_b, seen = np.cumsum(fits_a[:n]), np.cumsum(fits_b[:n]), np.arange(1, n + 1)
    return np.exp(np.stack([k_a, seen - k_a, k_b, seen - k_b], axis=1) @ _log_ratios()).mean(1)


def sequential_p(fits_a: Sequence[bool], fits_b: Sequence[bool]) -> float:
    """The always-valid p; 1 before the first pair."""
    found = evidence(fits_a, fits_b)
    return min(1.0, 1 / float(found.max())) if len(found) else 1.0


def decide(fits: Mapping[str, Sequence[bool]], alpha: float = ALPHA, baseline: str | None = None) -> Decision:
    """From every arm's fits so far, in the order of the seeds, to stop or go on.

    Leave out the seeds from the first one on that is still running: a seed that ends early must not enter early.
    Raises ValueError when `baseline` is none of the arms.
    """
    labels = list(fits)
    if baseline is not None and baseline not in labels:
        raise ValueError(f"baseline {baseline}: none of the arms {', '.join(labels)}")
    chosen = [(labels[i], labels[j]) for i, j in pairs(labels, baseline)]
    p = [sequential_p(fits[a], fits[b]) for a, b in chosen]
    corrected = holm(p)
    rank = {i: place for place, i in enumerate(np.argsort(p, kind="stable"))}
    found = []
    for i, (a, b) in enumerate(chosen):
        seen = evidence(fits[a], fits[b])
        best = float(seen.max()) if len(seen) else 1.0
        boundary = (len(chosen) - rank[i]) / alpha
        found.append(Pair(a, b, len(seen), best, p[i], float(corrected[i]), boundary, bool(corrected[i] <= alpha)))
    undecided = {label for pair in found if not pair.significant for label in (pair.first, pair.second)}
    return Decision(bool(found) and not undecided, frozenset(labels) - undecided if found else frozenset(), tuple(found))
