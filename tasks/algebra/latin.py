"""Latin squares, and which of them are groups in disguise."""

from collections.abc import Sequence

import numpy as np

from tasks.algebra.cayley import as_square, nonassociative_triple
from tasks.algebra.transitions import Indices

NOT_LATIN = "not a Latin square: some row or column repeats a symbol"


def is_latin(square: Indices) -> bool:
    """Every symbol once in each row and each column."""
    symbols = np.arange(len(square))[:, None]
    return bool((np.sort(square, axis=0) == symbols).all() and (np.sort(square, axis=1) == symbols.T).all())


def latin_square(rows: Sequence[Sequence[int]] | Indices) -> Indices:
    """The rows as an array; ValueError unless they are a Latin square over 0..n-1."""
    square = as_square(rows, "a Latin square")
    if not is_latin(square):
        raise ValueError(NOT_LATIN)
    return square


def principal_loop_isotope(square: Indices, row: int = 0, column: int = 0) -> Indices:
    """The loop (x * column) . (row * y) = x * y, whose identity is row * column. ValueError unless the square is Latin."""
    if not is_latin(square):
        raise ValueError(NOT_LATIN)
    loop = np.empty_like(square)
    loop[np.ix_(square[:, column], square[row])] = square
    return loop


def is_isotopic_to_group(square: Indices) -> bool:
    """Whether relabelling rows, columns and symbols, each on its own, turns the square into a group's table.

    Albert 1943: a loop isotopic to a group is isomorphic to it, so a principal loop isotope is associative for all choices or for none.
    """
    return nonassociative_triple(principal_loop_isotope(square)) is None
