"""What the report says, in the order it says it."""

from __future__ import annotations

import pandas as pd

from mingru.report import fit_rate
from mingru.report.document import Document, Section, Table, columns
from mingru.report.families import Family
from mingru.report.looks import Look, seen_before
from mingru.report.numbers import fraction, interval, plural
from mingru.report.runs.record import Source
from mingru.report.sections import comparisons, counts, seeds, sensitivity


def contents(source: Source, runs: pd.DataFrame, found: list[Family], looks: list[Look] | None = None, withheld: bool = False) -> Document:
    """The whole report on `runs`, cut into the families `found`; `looks` are earlier readings, `withheld` leaves comparisons out."""
    sections = [section for family in found for section in family_sections(family, looks or [], withheld)]
    return Document("Fit rates", [*_counts(runs, found), *_problems(source, runs)], summary(found), sections)


def family_sections(family: Family, looks: list[Look], withheld: bool) -> list[Section]:
    compared = len(family.cells) > 1 or family.baseline_missing
    if compared and withheld:
        hidden = Section(
            f"{family.title}: comparisons", ["Withheld while watching: reading p-values as seeds come in is what spoils them."]
        )
        return [counts.section(family), hidden, seeds.section(family)]
    seen = seen_before(looks, family)
    return [
        counts.section(family),
        *([comparisons.section(family, seen)] if compared else []),
        *([sensitivity.section(family, seen)] if compared and not family.baseline_missing else []),
        seeds.section(family),
    ]


def summary(found: list[Family]) -> Table:
    """Every cell of every family in one table."""
    rows = []
    for family in found:
        longest = max((n for scores in family.cells["scores"] for n in scores), default=None)
        for cell in family.each:
            fits = f"{cell.fits}/{cell.n}" if cell.n else "no data"
            lost = str(cell.failed + cell.missing)
            best = cell.scores.get(longest)
            rows.append([family.title, cell.label, fits, interval(cell.low, cell.high), lost, str(longest or "-"), fraction(best)])
    headers, numeric = columns("task and length", "mixer", ">fits", ">95 % interval", ">lost", ">longest", ">mean score there")
    caption = "All cells: fits of counted runs, runs that failed or are missing, mean score at the longest test length."
    return Table("summary", caption, headers, rows, numeric)


def _counts(runs: pd.DataFrame, found: list[Family]) -> list[str]:
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
