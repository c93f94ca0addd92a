"""Every outcome of two arms: Fisher's p by table, and Boschloo's test."""

from __future__ import annotations

import numpy as np
import pytest

from mingru.report.fisher import fisher
from mingru.report.two_by_two import boschloo, chances, fisher_table


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (12, 9), (36, 5)])
def test_the_table_holds_scipys_p_for_every_outcome(n, m):
    expected = [[fisher(a, n, b, m) for b in range(m + 1)] for a in range(n + 1)]
    np.testing.assert_allclose(fisher_table(n, m), expected, rtol=1e-9)


def test_a_p_far_below_rounding_keeps_its_digits():
    assert fisher_table(36, 36)[36, 0] == pytest.approx(4.519645926e-21, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(2, 2 / 16), (3, 2 / 64), (4, 2 / 256)])
def test_boschloo_of_all_against_none_is_worked_by_hand(n, p):
    # only the two corners are as extreme: 2 q^n (1 - q)^n, largest at q = 1/2
    assert boschloo(n, n, 0, n) == pytest.approx(p)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (7, 4), (12, 12)])
def test_boschloo_is_never_larger_than_fisher_and_keeps_the_level(n, m):
    found = np.array([[boschloo(a, n, b, m) for b in range(m + 1)] for a in range(n + 1)])
    assert (found <= fisher_table(n, m) + 1e-12).all()
    for level in (0.01, 0.05, 0.1):
        rejected = found <= level
        for rate in np.linspace(0.01, 0.99, 99):
            assert chances(n, rate) @ rejected @ chances(m, rate) <= level + 1e-9


@pytest.mark.parametrize(("n", "m"), [(5, 5), (7, 4), (9, 2)])
def test_boschloo_is_the_largest_chance_over_all_rates(n, m):
    rates = np.linspace(0.0001, 0.9999, 9_999)
    of_a, of_b = chances(n, rates), chances(m, rates)
    table = fisher_table(n, m)
    for a in range(n + 1):
        for b in range(m + 1):
            extreme = table <= table[a, b] * (1 + 1e-9)
            assert boschloo(a, n, b, m) == pytest.approx(np.einsum("ra,ab,rb->r", of_a, extreme, of_b).max(), rel=1e-6)


def test_boschloo_without_runs_is_no_number():
    assert np.isnan(boschloo(0, 0, 3, 3))


def test_chances_are_those_of_the_binomial():
    np.testing.assert_allclose(chances(2, 0.3), [0.49, 0.42, 0.09])
