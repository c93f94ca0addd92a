"""The always-valid test: what it is, that it keeps its level whenever one stops, and what it decides."""

from __future__ import annotations

import numpy as np
import pytest

from mingru.report.fisher import holm
from mingru.report.sequential import DIFFERENCE, NODES, decide, evidence, evidence_table, sequential_p
from mingru.report.two_by_two import chances


def test_the_evidence_of_one_pair_is_worked_by_its_definition():
    rates = (np.arange(NODES) + 0.5) / NODES
    ratios = [a * (1 - b) / ((a + b) / 2 * (1 - (a + b) / 2)) for a in rates for b in rates if abs(a - b) >= DIFFERENCE]
    assert evidence([True], [False])[0] == pytest.approx(np.mean(ratios))


def test_the_evidence_depends_on_the_counts_only():
    one = evidence([True, False, True], [False, False, True])
    other = evidence([False, True, True], [True, False, False])
    assert one[-1] == pytest.approx(other[-1])
    assert one[-1] == pytest.approx(evidence_table(3)[2, 1])


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n", [1, 2, 10, 36])
def test_without_a_difference_the_evidence_has_mean_at_most_one(rate, n):
    assert chances(n, rate) @ evidence_table(n) @ chances(n, rate) <= 1 + 1e-9


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.8])
def test_looking_after_every_pair_keeps_the_level(rate):
    generator = np.random.default_rng(0)
    fits = generator.random((10_000, 2, 60)) < rate
    counts = fits.cumsum(2)
    crossed = np.zeros(10_000, bool)
    for n in range(1, 61):
        crossed |= evidence_table(n)[counts[:, 0, n - 1], counts[:, 1, n - 1]] >= 20
    assert crossed.mean() <= 0.05


@pytest.mark.parametrize(("rates", "null"), [((0.4,) * 4, 4), ((0.4, 0.4, 0.4, 0.95), 3)])
def test_stopping_at_the_first_significant_pair_keeps_the_family_wise_error(rates, null):
    generator = np.random.default_rng(1)
    fits = generator.random((2_000, len(rates), 40)) < np.array(rates)[None, :, None]
    counts = fits.cumsum(2)
    pairs = [(i, j) for i in range(len(rates)) for j in range(i + 1, len(rates))]
    best = np.ones((2_000, len(pairs)))
    wrong = np.zeros(2_000, bool)
    truly_equal = np.array([j < null for _, j in pairs])
    for n in range(1, 41):
        table = evidence_table(n)
        now = np.stack([table[counts[:, i, n - 1], counts[:, j, n - 1]] for i, j in pairs], axis=1)
        best = np.maximum(best, now)
        wrong |= (np.array([holm(row) for row in 1 / best])[:, truly_equal] <= 0.05).any(1)
    assert wrong.mean() <= 0.055


def test_no_pairs_are_no_evidence():
    assert sequential_p([], [True]) == 1.0
    assert decide({"a": [], "b": []}).stop is False


def test_a_clear_difference_stops_and_an_unclear_one_goes_on():
    decided = decide({"a": [True] * 8, "b": [False] * 8})
    assert decided.stop
    assert decided.done == {"a", "b"}
    assert decided.pairs[0].boundary == pytest.approx(20)
    assert not decide({"a": [True] * 3, "b": [False] * 3}).stop


def test_the_longer_arm_counts_up_to_the_shorter():
    (pair,) = decide({"a": [True] * 30, "b": [False] * 4}).pairs
    assert pair.n == 4


def test_an_arm_whose_comparisons_are_all_decided_is_done():
    decided = decide({"a": [True] * 20, "b": [False] * 20, "c": [True] * 20})
    assert not decided.stop
    assert decided.done == {"b"}


def test_evidence_once_reached_is_not_lost():
    early = sequential_p([True] * 8, [False] * 8)
    assert sequential_p([True] * 8 + [False] * 30, [False] * 8 + [False] * 30) == early


def test_against_a_baseline_only_its_pairs_count():
    fits = {"a": [True] * 20, "b": [True] * 20, "base": [False] * 20}
    assert decide(fits, baseline="base").stop
    with pytest.raises(ValueError, match="none of the arms"):
        decide(fits, baseline="other")
