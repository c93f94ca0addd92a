"""Multiplication tables: what makes one a group, and that the groups built here are the ones named."""

from itertools import permutations, product

import numpy as np
import pytest

from tasks.algebra.cayley import CayleyTable, nonassociative_triple
from tasks.algebra.metacyclic import cyclic_group
from tasks.algebra.permutations import permutation_group, symmetric_group
from tasks.algebra.transitions import Group, run_table

# A loop, that is a Latin square with an identity, that is no group; every element is its own inverse.
LOOP = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]


def associates(table, a, b, c):
    return table[table[a][b]][c] == table[a][table[b][c]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0, 1], [1, 2]], "not closed: row 1, column 1 holds 2, which is outside 0..1"),
        ([[0, -1], [1, 0]], "not closed: row 0, column 1 holds -1"),
        ([[0, 1, 2], [1, 0, 2]], "as many columns as rows"),
        ([[0, 1], [1]], "as many columns as rows"),
        ([], "as many columns as rows"),
        ([[0.0, 1.0], [1.0, 0.0]], "entries of type float64"),
        ([[1, 0], [0, 1]], "the identity is element 1; list it first"),
        ([[0, 0], [1, 1]], "no identity"),
        ([[0, 1], [1, 1]], "no element takes 1 to the identity"),
        (LOOP, r"not associative: \(1 \* 1\) \* 2 = 2, but 1 \* \(1 \* 2\) = 4"),
    ],
)
def test_a_table_that_is_no_group_is_refused_with_its_fault(table, message):
    with pytest.raises(ValueError, match=message):
        CayleyTable(table)


def test_the_triple_named_does_not_associate():
    triple = nonassociative_triple(np.array(LOOP))
    assert triple is not None
    assert not associates(LOOP, *triple)


def test_exactly_the_113_semigroups_of_order_3_are_found_associative():
    tables = np.array(list(product(range(3), repeat=9)), np.uint8).reshape(-1, 3, 3)
    assert sum(nonassociative_triple(table) is None for table in tables) == 113


def test_any_way_of_listing_a_group_with_its_identity_first_is_accepted():
    rng, table = np.random.default_rng(0), symmetric_group(4).table
    for _ in range(20):
        listing = np.concatenate([[0], 1 + rng.permutation(23)])
        relabelled = np.empty_like(table)
        relabelled[np.ix_(listing, listing)] = listing[table]
        CayleyTable(relabelled)


def test_a_group_whose_products_are_exchanged_once_is_refused():
    table = symmetric_group(4).table.copy()
    table[5, 7], table[5, 8] = table[5, 8], table[5, 7]
    with pytest.raises(ValueError, match="not associative"):
        CayleyTable(table)


@pytest.mark.parametrize("order", [1, 2, 6, 60, 300])
def test_cyclic_groups_add_residues(order):
    group = cyclic_group(order)
    a, b = np.random.default_rng(0).integers(order, size=(2, 500))
    assert (group.step(a, b) == (a + b) % order).all()
    assert group.order == group.n_tokens == group.n_states == order
    assert group.table.dtype == (np.uint8 if order <= 256 else np.uint16)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_symmetric_groups_compose_permutations_in_lexicographic_order(degree):
    points = list(permutations(range(degree)))
    group = symmetric_group(degree)
    assert group.order == len(points)
    for a, b in np.random.default_rng(0).integers(len(points), size=(500, 2)):
        assert points[group.table[a, b]] == tuple(points[a][points[b][i]] for i in range(degree))


def test_the_second_factor_acts_first():
    points = list(permutations(range(3)))
    product_of = symmetric_group(3).table[points.index((0, 2, 1)), points.index((1, 0, 2))]
    assert points[product_of] == (2, 0, 1)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ([[0, 1, 2], [1, 2, 0]], r"not closed: \[1, 2, 0\] after \[1, 2, 0\] is \[2, 0, 1\]"),
        ([[0, 1, 2], [0, 1, 1]], r"a permutation lists each of 0..2 once, got \[0, 1, 1\]"),
        ([[0, 1, 2], [1, 0]], r"got \[1, 0\]"),
        ([[0, 1], [0, 1]], r"\[0, 1\] is listed twice"),
        ([[1, 0], [0, 1]], "the identity is element 1; list it first"),
        ([], "a permutation lists"),
    ],
)
def test_permutations_that_form_no_group_are_refused(elements, message):
    with pytest.raises(ValueError, match=message):
        permutation_group(elements)


@pytest.mark.parametrize(("family", "parameter"), [(cyclic_group, 0), (symmetric_group, 0), (symmetric_group, 8)])
def test_impossible_orders_and_degrees_are_refused(family, parameter):
    with pytest.raises(ValueError, match=f"got {parameter}"):
        family(parameter)


@pytest.mark.parametrize("shape", [(3, 2), (2, 5), (300, 300)])
def test_a_run_is_one_lookup_per_token_for_any_table(shape):
    rng = np.random.default_rng(0)
    table = rng.integers(shape[1], size=shape).astype(np.uint16)
    words = rng.integers(shape[0], size=(4, 33))
    states = run_table(table, words)
    for word, row in zip(words, states, strict=True):
        state = 0
        for token, found in zip(word, row, strict=True):
            state = table[token, state]
            assert found == state


def test_a_group_is_transitions_of_its_elements():
    assert isinstance(cyclic_group(3), Group)
