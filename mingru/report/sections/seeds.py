"""How the seeds of a cell spread: medians by length, steps to fit, and what retraining flagged seeds would give."""

from __future__ import annotations

from numpy.typing import NDArray

from mingru.report.document import Section, Table, columns
from mingru.report.families import Family
from mingru.report.medians import median_interval
from mingru.report.numbers import fraction
from mingru.report.retry import Expected, retries
from mingru.report.scores import by_length
from mingru.report.steps_to_fit import kaplan_meier


def section(family: Family) -> Section:
    tables = [_medians(family), _steps(family), _retries(family)]
    return Section(f"{family.title}: seeds", [], [table for table in tables if table.rows], detail=True)


def _medians(family: Family) -> Table:
    rows, best = [], 0.0 if family.measure == "error" else 1.0
    for cell in family.each:
        runs = family.runs[cell.label]
        for over, group in (("all", runs), ("fitting", runs[runs["fit"]])):
            if over == "fitting" and not 0 < cell.fits < cell.n:
                continue
            for length, scores in by_length(group["scores"]).items():
                rows.append([cell.label, over, str(length), *_spread(scores, cell.chance.get(length), best)])
    headers, numeric = columns(f"median {family.measure}", "over", ">length", ">n", ">median", ">95 % interval", ">adjusted", ">interval")
    caption = (
        "Median by length with its bootstrap interval (below 8 runs, the runs themselves), and both as "
        f"(score - chance) / ({best:g} - chance)."
    )
    return Table("medians", caption, headers, rows, numeric)


def _spread(values: NDArray, chance: float | None, best: float) -> list[str]:
    """n, median, interval, and the same with 0 for chance and 1 for the best score."""
    median, low, high = median_interval(values)
    spread = f"{fraction(low)} to {fraction(high)}" if low == low else " ".join(fraction(value) for value in sorted(values))
    if chance is None or chance == best:
        return [str(len(values)), fraction(median), spread, "-", "-"]
    # The lower error is the better one.
    limits = (low, high) if best > chance else (high, low)
    adjusted, worse, better = ((value - chance) / (best - chance) for value in (median, *limits))
    above = f"{fraction(worse)} to {fraction(better)}" if low == low else "-"
    return [str(len(values)), fraction(median), spread, fraction(adjusted), above]


def _steps(family: Family) -> Table:
    rows = []
    for cell in family.each:
        curve = kaplan_meier(family.runs[cell.label])
        if curve.n:
            rows.append([cell.label, f"{curve.events}/{curve.n}", _step(curve.median), _steps_between(curve.low, curve.high)])
    headers, numeric = columns("mixer", ">ever at the bar", ">median steps", ">95 % interval")
    caption = "Kaplan-Meier estimate of the steps to the first validation at the bar; a run that never gets there is censored."
    return Table("steps", caption, headers, rows, numeric)


def _steps_between(low: float, high: float) -> str:
    return "-" if low != low else f"{_step(low)} to {_step(high)}"


def _step(value: float) -> str:
    return "-" if value != value else "not reached" if value == float("inf") else f"{value:,.0f}"


def _retries(family: Family) -> Table:
    lengths = sorted({n for scores in family.cells["scores"] for n in scores})
    rows = []
    for cell in family.each:
        for found in retries(family.runs[cell.label], cell.chance):
            scores = [_expected(found.scores[n]) if n in found.scores else "-" for n in lengths]
            rows.append([cell.label, str(found.tries), _expected(found.unflagged), *scores, _expected(found.runs, 2)])
    headers, numeric = columns("mixer", ">tries", ">unflagged", *(f">@{n}" for n in lengths), ">runs")
    caption = (
        "Retry on a flag: expected accuracy when a run whose best validation accuracy is below 1 is trained again with a new seed, at "
        "most so many tries in all, and how many runs that costs; from the same runs, with a bootstrap interval from 8 runs on."
    )
    return Table("retries", caption, headers, rows, numeric)


def _expected(expected: Expected, digits: int = 3) -> str:
    value = f"{expected.value:.{digits}f}"
    return value if expected.low != expected.low else f"{value} ({expected.low:.{digits}f}-{expected.high:.{digits}f})"
