"""Odds ratio and risk difference against R, scipy and a published example."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy.stats.contingency import odds_ratio

from mingru.report.effects import conditional_odds_ratio, risk_difference


@pytest.mark.parametrize(
    ("cell", "value", "low", "high"),
    [
        ((25, 36, 10, 36), 5.74571857, 1.921750214, 18.581224828),
        ((8, 12, 1, 12), 18.76641542, 1.695651306, 1053.637307400),
        ((35, 36, 25, 36), 14.91728176, 1.944275278, 678.911108272),
        ((36, 36, 0, 36), inf, 166.5830759, inf),
        ((6, 6, 4, 12), inf, 1.372951321, inf),
        ((3, 3, 0, 3), inf, 0.6479745857, inf),
        ((1, 36, 36, 36), 0.0, 0.0, 0.00998146789),
    ],
)
def test_the_odds_ratio_and_its_interval_are_those_of_r(cell, value, low, high):
    # R 4.2.2: fisher.test(matrix(c(a, n - a, b, m - b), 2)); it finds roots above 1 as their inverse, to 1.2e-4
    found = conditional_odds_ratio(*cell)
    for ours, theirs in zip((found.value, found.low, found.high), (value, low, high), strict=True):
        assert (1 / ours if theirs > 1 else ours) == pytest.approx(1 / theirs if theirs > 1 else theirs, abs=1.3e-4)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (7, 3)])
def test_the_odds_ratio_and_its_interval_are_those_of_scipy(n, m):
    for a in range(n + 1):
        for b in range(m + 1):
            if 0 < a + b < n + m:
                found = conditional_odds_ratio(a, n, b, m)
                expected = odds_ratio([[a, n - a], [b, m - b]])
                limits = expected.confidence_interval()
                assert (found.value, found.low, found.high) == pytest.approx((expected.statistic, limits.low, limits.high), rel=1e-6)


@pytest.mark.parametrize("cell", [(0, 36, 0, 36), (5, 5, 3, 3), (0, 0, 3, 5)])
def test_a_table_with_an_empty_margin_has_no_odds_ratio(cell):
    assert np.isnan(conditional_odds_ratio(*cell).value)


def test_the_risk_difference_is_that_of_a_published_example():
    # Newcombe 1998, Statistics in Medicine 17:873, table II, method 10: 56/70 - 48/80
    found = risk_difference(56, 70, 48, 80)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_the_risk_difference_changes_sign_with_the_order():
    forth, back = risk_difference(8, 12, 1, 12), risk_difference(1, 12, 8, 12)
    assert (back.value, back.low, back.high) == pytest.approx((-forth.value, -forth.high, -forth.low))
