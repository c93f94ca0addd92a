"""Machine code for inner loops: made once, kept on disk where that can be written, and the same in every process."""

import multiprocessing

import numba
import numpy as np
import pytest

from tasks.algebra.transitions import run_table
from tasks.compiled import compiled

TABLE = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]], np.uint8)
WORDS = np.arange(60).reshape(4, 15) % 3


def total(values):
    result = 0
    for value in values:
        result += value
    return result


def test_a_loop_gives_what_python_gives():
    assert compiled(total)(np.arange(10)) == total(np.arange(10)) == 45


def test_where_nothing_can_be_written_the_loop_is_compiled_without_a_cache(monkeypatch):
    asked = []

    def njit(cache=False, **options):
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda loop: loop

    monkeypatch.setattr(numba, "njit", njit)
    loop = compiled(total)
    assert loop(np.arange(10)) == loop(np.arange(10)) == 45
    assert asked == [True, False]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_gets_the_same(method):
    expected = run_table(TABLE, WORDS)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert (pool.apply(run_table, (TABLE, WORDS)) == expected).all()
