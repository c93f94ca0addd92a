"""Fisher's exact test, Holm's correction, and what they say when there is little to say."""

from __future__ import annotations

from math import comb, nan

import numpy as np
import pytest

from mingru.report.fisher import Count, compare, fisher, holm, pairs, smallest_p


def enumerated(a: int, n: int, b: int, m: int) -> float:
    """The two-sided p by its definition, in exact integers: all tables with these margins that are no likelier."""
    fits = a + b
    weights = [comb(n, x) * comb(m, fits - x) for x in range(max(0, fits - m), min(n, fits) + 1)]
    seen = comb(n, a) * comb(m, b)
    return sum(weight for weight in weights if weight <= seen) / sum(weights)


@pytest.mark.parametrize(
    ("a", "n", "b", "m", "p"),
    [
        (25, 36, 10, 36, 8.35e-4),
        (35, 36, 25, 36, 0.0030),
        (35, 36, 10, 36, 3.9e-10),
        (36, 36, 0, 36, 4.52e-21),
        (1, 36, 36, 36, 1.67e-19),
        (8, 12, 1, 12, 0.0094),
        (6, 6, 4, 12, 0.0128),
        (8, 12, 4, 12, 0.2203),
        (3, 3, 0, 3, 0.10),
        (4, 4, 0, 4, 0.029),
        (5, 5, 0, 5, 0.008),
    ],
)
def test_p_agrees_with_published_tables(a, n, b, m, p):
    assert fisher(a, n, b, m) == pytest.approx(p, rel=0.02)


@pytest.mark.parametrize("n", [1, 3, 8, 13])
@pytest.mark.parametrize("m", [2, 7, 13])
def test_p_agrees_with_enumeration_in_exact_integers(n, m):
    for a in range(n + 1):
        for b in range(m + 1):
            assert fisher(a, n, b, m) == pytest.approx(enumerated(a, n, b, m), rel=1e-9)


def test_small_p_has_no_floor():
    assert fisher(36, 36, 0, 36) == pytest.approx(2 / comb(72, 36), rel=1e-9)
    assert fisher(200, 200, 0, 200) == pytest.approx(2 / comb(400, 200), rel=1e-9)


def test_holm_agrees_with_a_hand_worked_example():
    # sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and the last may not fall below the one before
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_keeps_ties_equal():
    np.testing.assert_allclose(holm([0.6, 0.7, 0.6]), [1, 1, 1])
    np.testing.assert_allclose(holm([0.02, 0.02, 0.02]), [0.06, 0.06, 0.06])


def test_a_pair_without_data_does_not_count_into_holms_m():
    np.testing.assert_allclose(holm([0.01, nan, 0.03]), [0.02, nan, 0.03])


def test_smallest_p_is_that_of_all_against_none():
    assert smallest_p(3, 3) == pytest.approx(0.1)
    assert smallest_p(36, 36) == pytest.approx(2 / comb(72, 36))


def test_pairs_are_all_or_those_with_the_baseline():
    assert pairs(["a", "b", "c"]) == [(0, 1), (0, 2), (1, 2)]
    assert pairs(["a", "b", "c"], "b") == [(0, 1), (2, 1)]


def test_three_cells_are_compared_and_corrected_as_worked_by_hand():
    # Fisher: 5/5 v 0/5 = 2/252 = .00794; 5/5 v 3/5 = 112/252 = .444; 3/5 v 0/5 = 42/252 = .167; Holm: x3, x1, x2
    found = compare([Count("a", 5, 5), Count("b", 0, 5), Count("c", 3, 5)])
    assert [(pair.first.label, pair.second.label) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p for pair in found] == pytest.approx([2 / 252, 112 / 252, 42 / 252])
    assert [pair.p_holm for pair in found] == pytest.approx([6 / 252, 112 / 252, 84 / 252])
    assert [pair.verdict for pair in found] == ["differ", "not shown to differ", "not shown to differ"]


def test_three_against_three_seeds_cannot_reach_a_twentieth():
    (pair,) = compare([Count("a", 3, 3), Count("b", 0, 3)])
    assert pair.p == pytest.approx(0.1)
    assert pair.verdict == "cannot reach .05 at this n"


def test_a_family_can_be_too_large_for_its_n():
    # 4 against 4 reaches .029 alone, and no less than 3 x .029 among three pairs
    assert compare([Count("a", 4, 4), Count("b", 0, 4)])[0].reachable
    assert not any(pair.reachable for pair in compare([Count("a", 4, 4), Count("b", 0, 4), Count("c", 0, 4)]))


def test_a_cell_without_runs_has_no_data_and_no_p():
    (pair,) = compare([Count("a", 3, 3), Count("b", 0, 0)])
    assert np.isnan(pair.p)
    assert pair.verdict == "no data"


def test_two_cells_that_both_never_fit_are_undefined():
    (pair,) = compare([Count("a", 0, 36), Count("b", 0, 36)])
    assert pair.undefined
    assert pair.verdict == "no difference to test"
