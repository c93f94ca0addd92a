"""The tables of seeds, with numbers worked by hand."""

from __future__ import annotations

import pytest

from mingru.report.families import families
from mingru.report.fit_rate import fit_rates
from mingru.report.sections import seeds
from tests.report.synthetic import run, table


def tables(runs):
    frame = table(*runs)
    (found,) = families(fit_rates(frame), frame)
    return {each.name: each for each in seeds.section(found).tables}


def scored(score, seed, fit=False, chance=0.2, measure="accuracy"):
    made = run(fit, seed, **{measure: {"64": score}}, chance={"64": chance})
    if measure == "error":
        del made.values["accuracy"]
    return made


def test_medians_are_over_all_seeds_and_over_fitting_ones_raw_and_above_chance():
    # (.6 - .2) / .8 = .5, (1 - .2) / .8 = 1
    rows = tables([scored(1.0, 0, fit=True), scored(0.6, 1), scored(0.3, 2)])["medians"].rows
    assert rows == [
        ["givens", "all", "64", "3", "0.600", "0.300 0.600 1.000", "0.500", "-"],
        ["givens", "fitting", "64", "1", "1.000", "1.000", "1.000", "-"],
    ]


def test_from_eight_runs_on_the_median_has_an_interval_above_chance_too():
    (row,) = tables([scored(0.6, seed) for seed in range(8)])["medians"].rows
    assert row[3:] == ["8", "0.600", "0.600 to 0.600", "0.500", "0.500 to 0.500"]


def test_at_chance_of_one_there_is_nothing_above_it():
    (row,) = tables([scored(1.0, 0, chance=1.0)])["medians"].rows
    assert row[-2:] == ["-", "-"]


def test_an_error_is_best_at_nothing():
    # the variance .4 is chance: .1 is three quarters of the way from it to 0, .3 a quarter
    runs = [scored(error, seed, chance=0.4, measure="error") for seed, error in enumerate([0.1] * 9 + [0.3] * 9)]
    (row,) = tables(runs)["medians"].rows
    assert row[4:] == ["0.200", "0.100 to 0.300", "0.500", "0.250 to 0.750"]


@pytest.mark.parametrize(("steps", "shown"), [([300, None, None], "not reached"), ([300, 300, 900], "300")])
def test_the_median_of_the_steps_to_fit_is_shown(steps, shown):
    rows = tables([run(step is not None, seed, steps_to_fit=step) for seed, step in enumerate(steps)])["steps"].rows
    assert rows[0][1:3] == [f"{sum(step is not None for step in steps)}/3", shown]
