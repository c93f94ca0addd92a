"""How far runs track, from the lengths that were measured."""

import pytest

from mingru.report import families, fit_rate
from mingru.report.sections import counts
from tests.report.synthetic import run, table


def tracking(*runs):
    frame = table(*runs)
    (family,) = families.families(fit_rate.fit_rates(frame), frame)
    return [found for found in counts.section(family).tables if found.name == "tracking"]


def measured(seed, by_test, by_every, mixer="givens"):
    made = run(True, seed, mixer, accuracy=by_test)
    made.values["accuracy_by_length"] = by_every
    return made


def test_the_longest_length_is_sought_among_test_lengths_and_all_others():
    runs = [
        measured(0, {"64": 0.99, "256": 0.91}, {"1": 1.0}),
        measured(1, {"64": 0.9, "256": 0.5}, {"1": 1.0, "2": 0.89, "31": 0.93, "32": None}),
        measured(2, {"64": 0.5}, {"1": 0.2}),
        measured(0, {"64": 1.0}, {}, "log"),
    ]
    (found,) = tracking(*runs)
    assert sorted(found.rows) == [["givens", "0", "31", "256"], ["log", "64", "64", "64"]]


def test_a_run_that_diverged_tracks_nowhere_and_a_failed_one_is_not_counted():
    (found,) = tracking(run(False, 0, status="diverged"), run(True, 1), run(True, 2, status="failed"))
    assert found.rows == [["givens", "0", "32", "64"]]


def test_a_task_scored_by_errors_has_no_such_table():
    assert tracking(run(True, 0, error={"64": 0.1, "256": 0.2})) == []


@pytest.mark.parametrize("name", ["linear", "uniform"])
def test_a_protocol_names_its_curriculum(name):
    frame = table(run(True, 0, curriculum={"_target_": f"tasks.curriculum.{name}", "shortest": 1}))
    (family,) = families.families(fit_rate.fit_rates(frame), frame)
    assert f"curriculum {name}, " in family.protocol_text
    assert "curriculum.shortest 1" in family.protocol_text
