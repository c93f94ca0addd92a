"""Latin squares: the exact test for isotopy to a group, against known counts and hand-made isotopes."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from tasks.algebra.cayley import nonassociative_triple
from tasks.algebra.latin import drawn_square, is_isotopic_to_group, is_latin, latin_square, principal_loop_isotope, random_square
from tasks.algebra.metacyclic import cyclic_group
from tasks.algebra.permutations import symmetric_group
from tasks.stream import generator


def latin_squares(order, reduced):
    """All Latin squares of an order, row by row; reduced ones have their first row and column sorted."""
    rows = list(permutations(range(order)))
    partial = [[rows[0]]] if reduced else [[row] for row in rows]
    for r in range(1, order):
        candidates = [row for row in rows if row[0] == r] if reduced else rows
        pairs = product(partial, candidates)
        partial = [[*above, row] for above, row in pairs if all(a != b for up in above for a, b in zip(up, row, strict=True))]
    return [np.array(square) for square in partial]


def isotope(square, rng):
    """The square with rows, columns and symbols relabelled, each on its own."""
    n = len(square)
    return rng.permutation(n)[square[rng.permutation(n)][:, rng.permutation(n)]]


def test_the_hierarchy_square_is_isotopic_to_no_group(preset):
    square = preset("s3_hier").latin_square
    assert is_latin(square)
    assert not is_isotopic_to_group(square)


def test_every_choice_of_row_and_column_decides_alike(preset):
    group = symmetric_group(3).table
    for square in (preset("s3_hier").latin_square, group, isotope(group, np.random.default_rng(0))):
        loops = [principal_loop_isotope(square, row, column) for row, column in product(range(6), repeat=2)]
        assert len({nonassociative_triple(loop) is None for loop in loops}) == 1


@pytest.mark.parametrize("group", [cyclic_group(6), symmetric_group(3), cyclic_group(7), symmetric_group(4)])
def test_groups_and_their_isotopes_are_isotopic_to_a_group(group):
    rng = np.random.default_rng(0)
    assert is_isotopic_to_group(group.table)
    for _ in range(20):
        assert is_isotopic_to_group(isotope(group.table, rng))


@pytest.mark.parametrize(("order", "count"), [(2, 2), (3, 12), (4, 576)])
def test_every_square_of_order_2_to_4_is_isotopic_to_a_group(order, count):
    squares = latin_squares(order, reduced=False)
    assert len(squares) == count
    assert all(is_isotopic_to_group(square) for square in squares)


def test_6_of_the_56_reduced_squares_of_order_5_are_isotopic_to_a_group():
    squares = latin_squares(5, reduced=True)
    assert len(squares) == 56
    assert sum(is_isotopic_to_group(square) for square in squares) == 6


def test_a_loop_isotope_has_row_times_column_as_its_identity(preset):
    square = preset("s3_hier").latin_square
    for row, column in product(range(6), repeat=2):
        loop, identity = principal_loop_isotope(square, row, column), square[row, column]
        assert (loop[identity] == np.arange(6)).all()
        assert (loop[:, identity] == np.arange(6)).all()


@pytest.mark.parametrize("rows", [[[0, 1], [0, 1]], [[0, 0], [1, 1]]])
def test_a_square_that_repeats_a_symbol_is_refused(rows):
    with pytest.raises(ValueError, match="not a Latin square"):
        latin_square(rows)
    with pytest.raises(ValueError, match="not a Latin square"):
        is_isotopic_to_group(np.array(rows))


def test_a_symbol_outside_the_square_is_named():
    with pytest.raises(ValueError, match="a Latin square is not closed: row 1, column 0 holds 2"):
        latin_square([[0, 1], [2, 0]])


@pytest.mark.parametrize("order", [5, 6, 7, 12, 24, 60])
def test_drawn_squares_are_latin_isotopic_to_no_group_and_follow_their_seed(order):
    squares = [drawn_square(order, seed) for seed in (0, 0, 1)]
    assert all(is_latin(square) and not is_isotopic_to_group(square) for square in squares)
    assert (squares[0] == squares[1]).all()
    assert (squares[0] != squares[2]).any()


def test_a_square_of_order_120_can_be_drawn():
    assert not is_isotopic_to_group(drawn_square(120, 0))


def test_every_square_of_order_3_is_drawn_as_often_as_any_other():
    drawn = Counter(random_square(3, generator("order 3", i)).tobytes() for i in range(2400))
    assert len(drawn) == 12
    assert sum((count - 200) ** 2 / 200 for count in drawn.values()) < 31.3  # chi-squared, 11 degrees of freedom, p = .001


def test_squares_of_order_5_are_isotopic_to_a_group_as_often_as_counting_says():
    """6 of 56, all reduced squares standing for equally many; a walk that stops at the first proper square gives .14."""
    share = np.mean([is_isotopic_to_group(random_square(5, generator("order 5", i))) for i in range(4000)])
    assert share == pytest.approx(6 / 56, abs=0.015)
