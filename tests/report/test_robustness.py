"""The same comparison under other fit rules."""

from __future__ import annotations

import pytest

from mingru.report.robustness import bars, conclusions, rules
from tests.report.synthetic import cell_of, run, table


def judged(seed, fresh, selected, last):
    return run(
        fresh >= 0.99,
        seed,
        fit_selected=selected >= 0.99,
        selection={"step": 100, "accuracy": selected, "fresh_accuracy": fresh},
        validation=[{"step": 100, "accuracy": selected}, {"step": 200, "accuracy": last}],
    )


def test_each_rule_counts_what_it_says():
    runs = table(judged(0, 0.981, 0.99, 0.6), judged(1, 0.991, 0.999, 0.999), judged(2, 0.996, 0.97, 0.2))
    counts = {rule.name: int(rule.fits(runs).sum()) for rule in rules(0.99, "accuracy")}
    assert counts == {"fit": 2, "fresh 0.98": 3, "fresh 0.995": 1, "selected": 2, "last": 1}


def test_a_run_that_touches_the_bar_once_and_falls_back_is_no_fit_by_its_last_validation():
    runs = table(judged(0, 0.995, 0.995, 0.6))
    assert {rule.name: bool(rule.fits(runs).all()) for rule in rules(0.99, "accuracy")}["last"] is False


def test_a_rule_that_says_otherwise_is_named():
    strong = table(*(judged(seed, 0.992, 0.999, 0.999) for seed in range(10)))
    weak = table(*(judged(seed, 0.985, 0.98, 0.98) for seed in range(10)))
    (found,) = conclusions({"strong": strong, "weak": weak}, rules(0.99, "accuracy"))
    assert [count.fits for count in found.counts["fit"]] == [10, 0]
    assert found.dissenting == ["fresh 0.98", "fresh 0.995"]


def test_a_conclusion_that_holds_names_no_rule():
    (found,) = conclusions({"a": table(*cell_of(12, 12)), "b": table(*cell_of(0, 12))}, rules(None, "accuracy"))
    assert found.dissenting == []


@pytest.mark.parametrize(
    ("bar", "measure", "expected"),
    [(0.99, "accuracy", (0.98, 0.995)), (0.9, "accuracy", (0.88, 0.92)), (0.0014, "error", (0.00175, 0.00112))],
)
def test_the_neighbouring_bars_are_those_of_the_reference(bar, measure, expected):
    assert bars(bar, measure) == pytest.approx(expected)


def test_an_error_fits_below_its_bar():
    runs = [
        run(True, seed, error={"64": 0.001}, selection={"step": 1, "error": 0.001, "fresh_error": error})
        for seed, error in enumerate((0.001, 0.002))
    ]
    for each in runs:
        del each.values["accuracy"]
    lax = next(rule for rule in rules(0.0014, "error") if rule.name.startswith("fresh"))
    assert list(lax.fits(table(*runs))) == [True, False]
