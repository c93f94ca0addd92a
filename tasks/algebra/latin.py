"""Latin squares, and which of them are groups in disguise."""

from collections.abc import Sequence
from itertools import count

import numpy as np
import torch
from torch import Generator

from tasks.algebra.cayley import as_square, nonassociative_triple
from tasks.algebra.transitions import Indices
from tasks.compiled import compiled
from tasks.stream import generator

# Every Latin square of order 2, 3 or 4 is isotopic to a group.
SMALLEST_ORDER, LARGEST_DRAWN = 5, 120

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


def drawn_square(order: int, table_seed: int) -> Indices:
    """A Latin square that is isotopic to no group, drawn about uniformly: a function of its order and seed alone.

    About n^3 moves of Jacobson and Matthews 1996 (J. Combin. Des. 4) from the cyclic square; drawn again while isotopic to a group.
    """
    _check_order(order)
    if order > LARGEST_DRAWN:
        raise ValueError(f"a Latin square is drawn up to order {LARGEST_DRAWN}, got {order}; give one instead")
    drawn = (random_square(order, generator("latin square", order, table_seed, attempt)) for attempt in count())
    return next(square for square in drawn if not is_isotopic_to_group(square))


def given_square(rows: Sequence[Sequence[int]] | Indices) -> Indices:
    """The rows as an array; ValueError unless they are a Latin square over 0..n-1 that is isotopic to no group."""
    square = latin_square(rows)
    _check_order(len(square))
    if is_isotopic_to_group(square):
        raise ValueError("this Latin square is isotopic to a group, so that pairs would be no harder than elements; give another one")
    return square


def _check_order(order: int) -> None:
    if order < SMALLEST_ORDER:
        raise ValueError(f"every Latin square of order {order} is isotopic to a group; a hierarchy needs order {SMALLEST_ORDER} or more")


def random_square(order: int, numbers: Generator) -> Indices:
    """A Latin square drawn about uniformly from all of its order: the one that the walk of moves comes to at its n^2-th proper square.

    Every n-th square or so is proper. To stop at the first one after so many moves would favour squares with few intercalates.
    """
    columns = np.arange(order)
    cube = (((columns[:, None] + columns) % order)[..., None] == columns).astype(np.int8)
    improper, visits = np.array([-1]), 0
    while visits < order**2:
        draws = torch.randint(2**40, (order**3, 3), generator=numbers, device="cpu").numpy()
        visits += _move(cube.reshape(-1), order, improper, draws, order**2 - visits)
    return cube.argmax(axis=2).astype(np.min_scalar_type(order - 1))


@compiled
def _move(cube, n, improper, numbers, visits):  # type: ignore[no-untyped-def]
    """Moves of the incidence cube, whose entry (x, y, z) tells whether cell (x, y) holds z, up to a number of visits to proper ones.

    Every line of the cube sums to 1. A proper one has entries 0 and 1; an improper one has one entry -1, at improper[0], otherwise -1.
    A move takes three random numbers. Returns the visits made.
    """
    visited, edges = 0, np.empty(3, np.int64)
    for draw in numbers:
        corner, sides = improper[0], draw[2]
        if corner < 0:
            # Any entry that is 0: in a cell, any symbol but the one it holds.
            corner, sides = draw[0] % (n * n) * n, 0
            held = np.argmax(cube[corner : corner + n])
            corner += (held + 1 + draw[1] % (n - 1)) % n
        for axis in range(3):
            step = n ** (2 - axis)
            at = corner - corner // step % n * step
            # The line's entry that is 1; where the corner is -1 there are two, and a random bit says which.
            skip = sides >> axis & 1
            while cube[at] != 1 or skip:
                skip -= skip and cube[at] == 1
                at += step
            edges[axis] = at - corner
        for i in range(8):
            x, y, z = i & 1, i >> 1 & 1, i >> 2
            cube[corner + x * edges[0] + y * edges[1] + z * edges[2]] += 1 - 2 * ((x + y + z) % 2)
        opposite = corner + edges.sum()
        improper[0] = opposite if cube[opposite] < 0 else -1
        visited += improper[0] < 0
        if visited == visits:
            break
    return visited
