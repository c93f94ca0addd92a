"""Error rates of the whole procedure, over 10,000 simulated sweeps, and coverage of the intervals."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from mingru.report import coverage
from mingru.report.fisher import holm
from mingru.report.intervals import clopper_pearson, wilson
from mingru.report.two_by_two import fisher_table

SWEEPS = 10_000
DOCS = Path(__file__).resolve().parents[2] / "docs" / "statistics.md"


@pytest.mark.parametrize("n", [5, 12, 36])
@pytest.mark.parametrize(
    "rates",
    [(0.5,) * 5, (0.03,) * 5, (0.7,) * 5, (0.7, 0.7, 0.7, 0.2, 0.2), (0.5, 0.5, 0.5, 0.5, 1.0)],
    ids=["half", "rare", "frequent", "two groups", "one stands out"],
)
def test_the_family_wise_error_stays_below_its_level(n, rates):
    fits = np.random.default_rng(n).binomial(n, rates, (SWEEPS, len(rates)))
    pairs = list(combinations(range(len(rates)), 2))
    p = np.stack([fisher_table(n, n)[fits[:, i], fits[:, j]] for i, j in pairs], axis=1)
    equal = np.array([rates[i] == rates[j] for i, j in pairs])
    wrong = [(holm(row)[equal] <= 0.05).any() for row in p]
    assert np.mean(wrong) <= 0.055


def test_the_exact_interval_covers_every_rate_at_every_n():
    for n in range(3, 41):
        assert coverage.of_rate(clopper_pearson, n).min() >= 0.95


def test_the_wilson_interval_does_not():
    found = coverage.of_rate(wilson, 12)
    assert found.min() < 0.85
    assert found.mean() > 0.95


def test_coverage_of_a_rate_is_counted_over_all_outcomes():
    # n = 1, an interval that is [0, .4] or [.6, 1]: at .2 only the outcome 0 covers it
    chance = coverage.of_rate(lambda k, n: (np.array([0.0, 0.6]), np.array([0.4, 1.0])), 1, np.array([0.2]))
    assert chance == pytest.approx([0.8])


def printed(caption: str) -> dict[int, list[float]]:
    """The numbers of the table below a caption in the docs, by n."""
    table = DOCS.read_text(encoding="utf-8").split(caption)[1].split("\n\n")[1]
    rows = [[float(cell) for cell in row.strip("| ").split("|")] for row in table.splitlines() if re.match(r"\|\s*\d", row)]
    return {int(row[0]): row[1:] for row in rows}


def test_the_docs_print_the_coverage_of_the_rates():
    for n, numbers in printed("Coverage of the intervals of a rate").items():
        found = [coverage.of_rate(interval, n) for interval in (clopper_pearson, wilson)]
        assert numbers == pytest.approx([100 * value for each in found for value in (each.min(), each.mean())], abs=0.051)


def test_the_docs_print_the_coverage_of_the_median():
    numbers = printed("Coverage of the median's bootstrap interval")
    for n in (8, 36):
        assert numbers[n] == pytest.approx([100 * coverage.of_median(shape, n, 1_000) for shape in coverage.SHAPES], abs=2.5)
