"""The bootstrap of a median, against every resample written out."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mingru.report.medians import bootstrap_medians, median_interval


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_weights_are_those_of_all_resamples(n):
    values = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0])[:n]
    resampled = np.median(list(product(values, repeat=n)), axis=1)
    first, second, weights = bootstrap_medians(n)
    medians = (values[first] + values[second]) / 2
    for median in np.unique(resampled):
        assert weights[np.isclose(medians, median)].sum() == pytest.approx((resampled == median).mean(), abs=1e-12)
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("n", [8, 9, 12, 36])
def test_the_interval_is_the_limit_of_many_resamples(n):
    generator = np.random.default_rng(n)
    values = generator.normal(size=n)
    resampled = np.median(values[generator.integers(0, n, (100_000, n))], axis=1)
    median, low, high = median_interval(values)
    assert median == np.median(values)
    assert (low, high) == pytest.approx(np.quantile(resampled, [0.025, 0.975]), abs=0.1)


def test_equal_values_have_an_interval_of_no_width():
    assert median_interval([1.0] * 12) == (1.0, 1.0, 1.0)


def test_below_eight_values_there_is_no_interval():
    median, low, high = median_interval([0.2, 0.9, 1.0])
    assert median == 0.9
    assert np.isnan([low, high]).all()


def test_no_values_have_no_median():
    assert np.isnan(median_interval([])).all()
