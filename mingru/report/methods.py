"""A methods paragraph that can be pasted into a paper: protocol, counts and tests, with this report's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from mingru.report.families import Family
from mingru.report.looks import Look, seen_before
from mingru.report.numbers import plural

TESTS = (
    "Fit rates are given with exact (Clopper-Pearson) 95 % confidence intervals and compared by Fisher's exact test, two-sided, "
    "with Holm's correction over all comparisons of one task, training length, protocol and stratum; a corrected p of at most .05 is "
    "called a difference. Boschloo's exact test, a log-rank test on the steps to fit (runs that never fit are censored), an always-valid "
    "sequential test (Turner, Ly and Gruenwald 2024) and counts under neighbouring fit rules are sensitivity analyses and decide "
    "nothing. Odds ratios are conditional maximum-likelihood estimates with exact intervals; intervals of rate differences are "
    "Newcombe's; intervals of medians are percentile bootstrap intervals, given from 8 runs on. Seeds of different mixers share their "
    "batches, since the training stream depends on the task and the seed only; the tests treat the runs as independent."
)
SEQUENTIAL = (
    "Where a mixer got no more seeds once all its comparisons were significant, the sequential test decides in place of Fisher's, "
    "with the same correction: its p is the inverse of the largest evidence so far, valid at any stopping time."
)


def methods(runs: pd.DataFrame, found: list[Family], looks: Sequence[Look] = ()) -> list[str]:
    """One paragraph per family, then counting and tests; `looks` are earlier readings."""
    stopped = [SEQUENTIAL] if any(family.sequential for family in found) else []
    return [*(_family(family, looks) for family in found), _counting(runs), TESTS, *stopped, _software(runs)]


def _family(family: Family, looks: Sequence[Look]) -> str:
    seeds = family.cells["n"]
    each = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
    names = ", ".join(_named(cell) for cell in family.each)
    return (
        f"{family.title}: {names} were trained on {family.task} at length {family.length} with {each} counted seeds each "
        f"({family.protocol_text}). A run fits when its {family.fit_rule}.{_stopped(family) or _looked(family, looks)}"
    )


def _stopped(family: Family) -> str:
    if not family.sequential:
        return ""
    return (
        f" Seeds of {', '.join(family.sequential)} were started in order, and no more of a mixer once all its comparisons were significant."
    )


def _looked(family: Family, looks: Sequence[Look]) -> str:
    seen = seen_before(looks, family)
    at = "; ".join(f"{label} at {', '.join(str(n) for n in numbers)}" for label, numbers in seen.items())
    return f" Seeds were added after earlier results were read ({at} runs), which the p-values do not account for." if seen else ""


def _named(cell: Any) -> str:
    size = "" if cell.parameters is None or cell.parameters != cell.parameters else f", {cell.parameters:,.0f} parameters"
    return f"{cell.label} ({cell.stack}{size})"


def _counting(runs: pd.DataFrame) -> str:
    current = runs[~runs["superseded"]]
    status = current["status"].value_counts()
    lost = status.get("failed", 0) + status.get("missing", 0)
    return (
        f"Of {plural(len(current), 'started run')}, {plural(int(status.get('diverged', 0)), 'run')} diverged and count as non-fits; "
        f"{plural(int(lost), 'run')} failed or left no result and are not counted. "
        f"{plural(int(runs['superseded'].sum()), 'earlier attempt')} of the same seeds were superseded."
    )


def _software(runs: pd.DataFrame) -> str:
    strata = "; ".join(sorted(runs["stratum"].unique()))
    known = [values for values in runs["values"] if values.get("commit")]
    commits = sorted({str(values["commit"])[:12] + ("-dirty" if values.get("dirty") else "") for values in known})
    return f"Software: {strata}." + (f" Commits: {', '.join(commits)}." if commits else "")
