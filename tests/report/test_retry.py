"""Retry-on-flag, worked by hand and by drawing."""

from __future__ import annotations

import numpy as np
import pytest

from mingru.report.retry import TRIES, retries
from tests.report.synthetic import CHANCE, cell_of, run, table

CHANCES = {64: CHANCE, 256: CHANCE}


def validated(seed, validation, score):
    selection = {"step": 100, "accuracy": validation, "fresh_accuracy": validation}
    return run(validation >= 1, seed, selection=selection, accuracy={"64": score, "256": score})


FOUR = [validated(0, 0.2, 0.1), validated(1, 0.5, 0.4), validated(2, 0.5, 0.6), validated(3, 1.0, 0.9)]


def test_one_try_is_the_plain_mean():
    first = retries(table(*FOUR), CHANCES)[0]
    assert first.tries == 1
    assert first.scores[64].value == pytest.approx(0.5)
    assert first.runs.value == 1
    assert first.unflagged.value == pytest.approx(0.25)


def test_two_tries_are_worked_by_hand():
    # worst of four is kept with (1/4)^2, one of the middle two with (3/4)^2 - (1/4)^2, the unflagged one with 1 - (3/4)^2
    second = retries(table(*FOUR), CHANCES)[1]
    assert second.scores[64].value == pytest.approx((1 * 0.1 + 8 * 0.5 + 7 * 0.9) / 16)
    assert second.runs.value == pytest.approx(1.75)
    assert second.unflagged.value == pytest.approx(7 / 16)


def test_drawing_tries_gives_the_same_numbers():
    generator = np.random.default_rng(0)
    validation, score = np.array([0.2, 0.5, 0.5, 1.0]), np.array([0.1, 0.4, 0.6, 0.9])
    scores, trained = [], []
    for tries in generator.integers(0, 4, (20_000, 5)):
        clean = np.flatnonzero(validation[tries] >= 1)
        kept = tries[clean[0]] if len(clean) else tries[validation[tries].argmax()]
        scores.append(score[kept])
        trained.append(clean[0] + 1 if len(clean) else 5)
    five = retries(table(*FOUR), CHANCES)[TRIES.index(5)]
    assert five.scores[64].value == pytest.approx(np.mean(scores), abs=0.01)
    assert five.runs.value == pytest.approx(np.mean(trained), abs=0.03)


def test_a_perfect_cell_needs_one_try():
    found = retries(table(*(validated(seed, 1.0, 0.9) for seed in range(9))), CHANCES)
    assert all(entry.runs.value == 1 and entry.unflagged.low == 1 for entry in found)


def test_a_diverged_run_is_a_flagged_try_at_chance():
    first, second = retries(table(validated(0, 1.0, 1.0), run(seed=1, status="diverged")), CHANCES)[:2]
    assert first.scores[64].value == pytest.approx((1 + CHANCE) / 2)
    assert second.scores[64].value == pytest.approx(0.75 + 0.25 * CHANCE)


def test_the_interval_comes_with_eight_runs_and_holds_the_value():
    assert np.isnan(retries(table(*FOUR), CHANCES)[0].runs.low)
    for entry in retries(table(*cell_of(4, 12)), CHANCES):
        assert entry.scores[64].low <= entry.scores[64].value <= entry.scores[64].high


def test_the_same_runs_always_give_the_same_interval():
    assert retries(table(*cell_of(4, 12)), CHANCES) == retries(table(*cell_of(4, 12)), CHANCES)


def test_regression_runs_have_no_flag():
    odd = run(error={"64": 0.001})
    del odd.values["accuracy"]
    assert retries(table(odd), CHANCES) == []
