"""What the report says, in the order it says it; table.py and the page only lay it out."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from mingru.report import fisher, fit_rate
from mingru.report.families import Family, families
from mingru.report.numbers import count, fraction, interval, p_value, plural
from mingru.report.runs.record import Source


@dataclass(frozen=True)
class Table:
    """A table of text; `numeric` marks the columns that are set flush right."""

    headers: list[str]
    rows: list[list[str]]
    numeric: list[bool]


@dataclass(frozen=True)
class Section:
    title: str
    lines: list[str]
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True)
class Contents:
    title: str
    lines: list[str]
    sections: list[Section]


def contents(source: Source, runs: pd.DataFrame, baseline: str | None = None) -> Contents:
    """The whole report.

    Raises ValueError when `baseline` names no cell, or more than one in a family.
    """
    found = families(fit_rate.fit_rates(runs), baseline)
    sections = [section for family in found for section in _family_sections(family)]
    return Contents("Fit rates", [*_summary(runs, found), *_problems(source, runs)], sections)


def _summary(runs: pd.DataFrame, found: list[Family]) -> list[str]:
    current = runs[~runs["superseded"]]
    status = current["status"].value_counts()
    kinds = ", ".join(f"{status[kind]} {kind}" for kind in ("finished", "diverged", "failed", "missing") if kind in status)
    cell_count = sum(len(family.cells) for family in found)
    again = f"; {int(runs['superseded'].sum())} more are superseded" if runs["superseded"].any() else ""
    lines = [f"{plural(len(current), 'run')} of {plural(cell_count, 'cell')}: {kinds}{again}.", fit_rate.COUNTING]
    for name in ("protocol", "stratum"):
        described = dict(sorted({(getattr(family, f"{name}_name"), getattr(family, f"{name}_text")) for family in found}))
        lines += [f"{name.capitalize()}{f' {key}' if key else ''}: {text}." for key, text in described.items()]
    return lines


def _problems(source: Source, runs: pd.DataFrame) -> list[str]:
    lines = [*source.notes, *runs["problem"].dropna()]
    failed = runs[(runs["status"] == "failed") & ~runs["superseded"]]
    for failure, group in failed.groupby(failed["failure"].fillna("no message").str.split("\n").str[0], sort=True):
        origins = list(group["origin"])
        more = f" and {len(origins) - 1} more" if len(origins) > 1 else ""
        lines.append(f"failed: {origins[0]}{more}: {failure}")
    return lines


def _family_sections(family: Family) -> list[Section]:
    rule = f"Fit: {family.fit_rule}."
    named = [f"{cell.label}: {cell.differences}." for cell in family.cells.itertuples() if "#" in cell.label and cell.differences]
    sections = [Section(family.title, [rule, *named], [_fits(family), _scores(family), _stacks(family)])]
    if len(family.cells) > 1 or family.baseline_missing:
        sections.append(_comparisons(family, rule))
    return sections


def _fits(family: Family) -> Table:
    rows = [
        [
            cell.label,
            f"{cell.fits}/{cell.n}" if cell.n else "no data",
            fraction(cell.rate),
            interval(cell.low, cell.high),
            *(str(getattr(cell, kind)) for kind in ("diverged", "failed", "missing")),
        ]
        for cell in family.cells.itertuples()
    ]
    headers = ["mixer", "fits", "rate", "95 % interval", "diverged", "failed", "missing"]
    return Table(headers, rows, [False] + [True] * 6)


def _scores(family: Family) -> Table:
    """Mean score by test length, over all counted runs of a cell and over its fitting runs."""
    cell_rows = list(family.cells.itertuples())
    lengths = sorted({n for cell in cell_rows for n in cell.scores})
    rows = []
    for cell in (cell for cell in cell_rows if cell.n):
        groups = [("all" if cell.fits < cell.n else "all, each fits:", cell.n, cell.scores, cell.scored)]
        if 0 < cell.fits < cell.n:
            groups.append(("fitting", cell.fits, cell.fit_scores, cell.fit_scored))
        for name, n, scores, scored in groups:
            known = min((scored.get(length, 0) for length in lengths), default=0)
            over = f"{name} {n}" if known == n else f"{name} {known} of {n}"
            rows.append([cell.label, over, *(fraction(scores.get(length)) for length in lengths)])
    for name in ("chance", "constant"):
        known = next((getattr(cell, name) for cell in cell_rows if getattr(cell, name)), {})
        if known:
            rows.append([name, "", *(fraction(known.get(length)) for length in lengths)])
    headers = [f"mean {family.measure}", "over", *(f"@{length}" for length in lengths)]
    return Table(headers, rows, [False, False] + [True] * len(lengths))


def _stacks(family: Family) -> Table:
    rows = [
        [cell.label, cell.stack, count(cell.parameters), count(cell.state_size), count(cell.seconds), cell.cell]
        for cell in family.cells.itertuples()
    ]
    headers = ["mixer", "stack", "parameters", "state", "median seconds", "cell"]
    return Table(headers, rows, [False, False, True, True, True, False])


def _comparisons(family: Family, rule: str) -> Section:
    counts = [fisher.Count(cell.label, cell.fits, cell.n) for cell in family.cells.itertuples()]
    title = f"{family.title}: comparisons"
    if family.baseline_missing:
        return Section(title, ["No comparison: the baseline has no cell here."])
    found = fisher.compare(counts, family.baseline)
    tested = [comparison for comparison in found if comparison.p == comparison.p]
    scope = f"every cell against {family.baseline}" if family.baseline else f"all pairs of {plural(len(counts), 'cell')}"
    lines = [
        rule,
        f"Test: Fisher's exact test, two-sided, on the counts of fits. Family: {scope} at this task, length, protocol and "
        f"stratum; Holm's correction over {plural(len(tested), 'comparison')}.",
    ]
    if len(tested) < len(found):
        lines.append(f"{plural(len(found) - len(tested), 'pair')} without data not counted among the comparisons.")
    if tested and not any(comparison.reachable for comparison in tested):
        lines.append("No comparison here can reach .05 at this n, whatever the outcome: more seeds are needed.")
    rows = [_comparison_row(comparison) for comparison in found]
    headers = ["mixer", "fits", "against", "fits", "Fisher p", "Holm p", "verdict at .05"]
    return Section(title, lines, [Table(headers, rows, [False, True, False, True, True, True, False])])


def _comparison_row(comparison: fisher.Comparison) -> list[str]:
    a, b = comparison.first, comparison.second
    no_data = a.n == 0 or b.n == 0
    unclear = "no data" if no_data else "undefined" if comparison.undefined else ""
    p = [unclear or p_value(value) for value in (comparison.p, comparison.p_holm)]
    return [a.label, str(a), b.label, str(b), *p, comparison.verdict]
