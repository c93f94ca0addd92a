"""Kaplan-Meier and log-rank against R's survival package."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from mingru.report.steps_to_fit import kaplan_meier, log_rank, times
from tests.report.synthetic import run, table

NEVER = None
QUICK = [300, 400, 400, 700, NEVER, NEVER, 500, NEVER]
SLOW = [900, 1200, NEVER, NEVER, NEVER, 1000, NEVER, NEVER]


def cell(steps):
    return table(*(run(step is not None, seed, steps_to_fit=step) for seed, step in enumerate(steps)))


def test_the_curve_is_that_of_r():
    # R 4.2.2, survival: survfit(Surv(t, e) ~ 1, conf.type = "log-log")
    curve = kaplan_meier(cell(QUICK))
    assert list(curve.steps) == [300, 400, 500, 700]
    np.testing.assert_allclose(curve.unfitted, [0.875, 0.625, 0.5, 0.375])
    assert (curve.median, curve.low, curve.high) == (600, 300, inf)


def test_a_median_that_is_not_reached_is_infinite():
    curve = kaplan_meier(cell(SLOW))
    assert (curve.events, curve.n) == (3, 8)
    assert (curve.median, curve.low, curve.high) == (inf, 900, inf)


@pytest.mark.parametrize(("steps", "limits"), [([5] * 5, (None, None)), ([5, 5, 5, 5, 7], (5, inf)), ([3, 3, 5, 5, 5], (3, inf))])
def test_the_limits_of_a_median_of_five_are_those_of_r(steps, limits):
    # R 4.2.2: NA NA, 5 NA, 3 NA
    curve = kaplan_meier(cell(steps))
    assert curve.median == 5
    assert [None if np.isnan(limit) else limit for limit in (curve.low, curve.high)] == list(limits)


def test_the_log_rank_test_is_that_of_r():
    # survdiff: chisq 2.094642397, p 0.1478162939
    assert log_rank(times(cell(QUICK)), times(cell(SLOW))) == pytest.approx(0.1478162939, rel=1e-8)


def test_cells_that_never_fit_have_no_log_rank_test():
    never = times(cell([NEVER] * 4))
    assert np.isnan(log_rank(never, never))
    assert kaplan_meier(cell([NEVER] * 4)).median == inf


def test_cells_that_all_fit_at_one_step_have_no_log_rank_test():
    same = times(cell([300, 300]))
    assert np.isnan(log_rank(same, same))


def test_a_diverged_run_is_censored_at_the_last_step():
    runs = table(run(True, 0, steps_to_fit=300), run(seed=1, status="diverged"))
    steps, fitted = times(runs)
    assert sorted(zip(steps, fitted, strict=True)) == [(300, 1), (1600, 0)]
