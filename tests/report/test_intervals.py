"""Intervals against an independent computation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from mingru.report.intervals import clopper_pearson, wilson


def tail_roots(k: int, n: int) -> tuple[float, float]:
    """The rates at which k or more, and k or fewer, successes have probability .025."""
    low = 0.0 if k == 0 else brentq(lambda p: binom.sf(k - 1, n, p) - 0.025, 1e-12, 1 - 1e-12, xtol=1e-14)
    high = 1.0 if k == n else brentq(lambda p: binom.cdf(k, n, p) - 0.025, 1e-12, 1 - 1e-12, xtol=1e-14)
    return low, high


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 36, 100])
def test_clopper_pearson_is_where_the_binomial_tails_are_a_fortieth(n):
    for k in range(n + 1):
        low, high = clopper_pearson(k, n)
        assert (float(low), float(high)) == pytest.approx(tail_roots(k, n), abs=1e-9)


def test_clopper_pearson_of_none_and_all_has_a_closed_form():
    assert clopper_pearson(0, 5) == pytest.approx((0.0, 1 - 0.025**0.2))
    assert clopper_pearson(36, 36) == pytest.approx((0.025 ** (1 / 36), 1.0))


@pytest.mark.parametrize("n", [1, 3, 12, 36])
def test_wilson_is_that_of_statsmodels_and_of_its_published_example(n):
    for k in range(n + 1):
        assert wilson(k, n) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-9)
    # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3: 15 of 148
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)


def test_no_runs_have_no_interval():
    assert np.isnan(clopper_pearson(0, 0)).all()


def test_more_successes_than_runs_is_an_error():
    with pytest.raises(ValueError, match="between 0 and n"):
        clopper_pearson(4, 3)
