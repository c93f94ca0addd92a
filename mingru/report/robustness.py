"""Does a conclusion hang on the bar, or on which checkpoint is judged? The same counts under neighbouring fit rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mingru.report import fisher, sequential

DEFAULT_BAR = 0.99


@dataclass(frozen=True)
class Rule:
    """A way to tell a fit, with the name of its column in the report."""

    name: str
    fits: Callable[[pd.DataFrame], NDArray]


@dataclass(frozen=True)
class Conclusion:
    """One comparison under every rule: the counts, Holm's p, and whether all rules agree on significance."""

    first: str
    second: str
    counts: Mapping[str, tuple[fisher.Count, fisher.Count]]
    p_holm: Mapping[str, float]

    @property
    def dissenting(self) -> list[str]:
        """Rules that say otherwise than the first one, which decides."""
        significant = {name: p <= fisher.ALPHA for name, p in self.p_holm.items()}
        decided = next(iter(significant.values()))
        return [name for name, said in significant.items() if said != decided]


def bars(bar: float, measure: str) -> tuple[float, float]:
    """A laxer and a stricter bar: the reference's .98 and .995 around .99, a quarter either way for an error."""
    if measure == "error":
        return 1.25 * bar, 0.8 * bar
    if bar == DEFAULT_BAR:
        return 0.98, 0.995
    return max(0.0, bar - 0.02), min(1.0, bar + 0.02)


def rules(bar: float | None, measure: str) -> list[Rule]:
    """The deciding rule first: fresh score at the bar; then other bars, the selecting validation, the last one."""
    if bar is None:
        bar = DEFAULT_BAR
    lax, strict = bars(bar, measure)
    return [
        Rule("fit", lambda runs: runs["fit"].to_numpy()),
        Rule(f"fresh {lax:g}", lambda runs: _reaches(runs, "fresh", lax)),
        Rule(f"fresh {strict:g}", lambda runs: _reaches(runs, "fresh", strict)),
        Rule("selected", lambda runs: runs["fit_selected"].to_numpy()),
        Rule("last", lambda runs: _reaches(runs, "last", bar)),
    ]


def _reaches(runs: pd.DataFrame, column: str, bar: float) -> NDArray:
    value = runs[column].to_numpy(float)
    reached = np.where(runs["measure"].to_numpy() == "error", value <= bar, value >= bar)
    return reached & (runs["status"].to_numpy() == "finished")


def conclusions(
    cells: Mapping[str, pd.DataFrame],
    chosen: Sequence[Rule],
    baseline: str | None = None,
    in_order: Mapping[str, pd.DataFrame] | None = None,
) -> list[Conclusion]:
    """Every comparison of a family under every rule; `cells` maps a label to its counted runs.

    `in_order` are those runs as the sequential test takes them, where it decides in place of Fisher's.
    """
    by_rule = {
        rule.name: fisher.compare([fisher.Count(label, int(rule.fits(runs).sum()), len(runs)) for label, runs in cells.items()], baseline)
        for rule in chosen
    }
    p_holm = {name: [pair.p_holm for pair in found] for name, found in by_rule.items()}
    if in_order is not None:
        for rule in chosen:
            decision = sequential.decide({label: rule.fits(runs) for label, runs in in_order.items()}, baseline=baseline)
            p_holm[rule.name] = [pair.p_holm for pair in decision.pairs]
    first = next(iter(by_rule.values()), [])
    return [
        Conclusion(
            pair.first.label,
            pair.second.label,
            {name: (found[i].first, found[i].second) for name, found in by_rule.items()},
            {name: found[i] for name, found in p_holm.items()},
        )
        for i, pair in enumerate(first)
    ]
