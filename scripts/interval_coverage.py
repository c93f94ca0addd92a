"""Print how often the report's 95 % intervals contain the truth; docs/statistics.md holds the table."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mingru.report import coverage, intervals
from mingru.report.document import Table, columns
from mingru.report.table import table_text

RATE_N = (3, 5, 8, 12, 24, 36, 40)
MEDIAN_N = (8, 9, 12, 16, 24, 36)


def rates() -> Table:
    rows = []
    for n in RATE_N:
        exact, wilson = (coverage.of_rate(interval, n) for interval in (intervals.clopper_pearson, intervals.wilson))
        rows.append([str(n), *(f"{100 * value:.1f}" for found in (exact, wilson) for value in (found.min(), found.mean()))])
    headers, numeric = columns(">n", ">exact, lowest", ">exact, mean", ">Wilson, lowest", ">Wilson, mean")
    return Table("rates", "", headers, rows, numeric)


def medians() -> Table:
    rows = [[str(n), *(f"{100 * coverage.of_median(shape, n):.1f}" for shape in coverage.SHAPES)] for n in MEDIAN_N]
    headers, numeric = columns(">n", *(f">{shape}" for shape in coverage.SHAPES))
    return Table("medians", "", headers, rows, numeric)


if __name__ == "__main__":
    print(table_text(rates()), table_text(medians()), sep="\n\n")
