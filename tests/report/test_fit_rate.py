"""Every started run is in one cell and is counted as what it is."""

from __future__ import annotations

import math

import pytest

from mingru.report.fit_rate import fit_rates
from tests.report.synthetic import cell_of, run, table


def test_fits_are_counted_over_finished_and_diverged_runs():
    runs = [*cell_of(2, 4), run(seed=4, status="diverged"), run(seed=5, status="failed"), run(seed=6, status="missing")]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert (cell.fits, cell.n) == (2, 5)
    assert (cell.finished, cell.diverged, cell.failed, cell.missing) == (4, 1, 1, 1)
    assert cell.rate == pytest.approx(0.4)


def test_means_are_over_all_seeds_and_over_fitting_seeds():
    (cell,) = fit_rates(table(*cell_of(1, 4))).itertuples()
    # fitting 1.0 and .9, the others .5 and .25
    assert cell.scores == pytest.approx({64: 2.5 / 4, 256: 1.65 / 4})
    assert cell.fit_scores == pytest.approx({64: 1.0, 256: 0.9})


def test_a_diverged_run_without_scores_is_no_number_in_the_mean():
    (cell,) = fit_rates(table(*cell_of(1, 1), run(seed=1, status="diverged"))).itertuples()
    assert cell.n == 2
    assert cell.scores[64] == 1.0
    assert cell.scored[64] == 1


def test_a_cell_in_which_nothing_ended_has_no_rate():
    (cell,) = fit_rates(table(run(status="failed"), run(seed=1, status="missing"))).itertuples()
    assert cell.n == 0
    assert math.isnan(cell.rate)
    assert math.isnan(cell.low)


def test_a_diverged_run_is_a_non_fit_whatever_it_says():
    odd = run(seed=1, status="diverged")
    odd.values["fit"] = True
    (cell,) = fit_rates(table(run(), odd)).itertuples()
    assert (cell.fits, cell.n) == (1, 2)


@pytest.mark.parametrize(("spelling", "fits"), [(True, 1), (1, 1), (1.0, 1), (False, 0), (0, 0), (None, 0), (math.nan, 0), ("NaN", 0)])
def test_fit_is_understood_in_every_spelling(spelling, fits):
    odd = run()
    odd.values["fit"] = spelling
    (cell,) = fit_rates(table(odd)).itertuples()
    assert (cell.fits, cell.n) == (fits, 1)


def test_the_highest_attempt_of_a_seed_counts():
    runs = [run(False, attempt=1), run(True, attempt=2), run(True, seed=1)]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert (cell.fits, cell.n, cell.superseded) == (2, 2, 1)


def test_among_equal_attempts_the_last_started_counts():
    runs = [run(True, started_at="2026-01-02"), run(False, started_at="2026-01-01")]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert (cell.fits, cell.n, cell.superseded) == (1, 1, 1)


def test_a_failed_retry_supersedes_the_run_before_it():
    runs = [run(True, attempt=1), run(status="failed", attempt=2)]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert (cell.fits, cell.n, cell.failed) == (0, 0, 1)


def test_the_same_seed_in_two_strata_counts_in_both_and_once_when_pooled():
    runs = [run(True), run(True, device="NVIDIA L4"), run(True, code="ba9876543210"), run(True, versions={"torch": "2.12.1"})]
    assert list(fit_rates(table(*runs))["n"]) == [1, 1, 1, 1]
    (cell,) = fit_rates(table(*runs, pool=True)).itertuples()
    assert (cell.n, cell.superseded) == (1, 3)


def test_a_patch_release_of_torch_is_no_other_stratum():
    runs = [run(True, versions={"torch": "2.13.0+cpu"}), run(True, seed=1, versions={"torch": "2.13.1"})]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert cell.n == 2


def test_regression_runs_are_scored_by_their_error():
    runs = [run(True, seed=seed, error={"64": 0.001 * (seed + 1)}, accuracy=None) for seed in range(2)]
    for each in runs:
        del each.values["accuracy"]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert cell.measure == "error"
    assert cell.scores == pytest.approx({64: 0.0015})
