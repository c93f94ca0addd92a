"""Monoids and automata, and groups and automata from files."""

import json

import numpy as np
import pytest
import torch

from tasks.algebra.automata import Automaton, counter, flip_flop, monoid
from tasks.algebra.files import read_automaton, read_group
from tasks.algebra.names import named_group
from tasks.base import Batch
from tasks.word_problem import WordProblem

# Strings over a, b that end in ab: the states are how much of it has been seen.
ENDS_IN_AB = {
    "states": ["none", "a", "ab"],
    "alphabet": ["a", "b"],
    "start": "none",
    "transitions": {"none": {"a": "a", "b": "none"}, "a": {"a": "a", "b": "ab"}, "ab": {"a": "a", "b": "none"}},
}


def labels(task, *word):
    inputs = torch.tensor([word])
    return task.oracle(Batch(inputs, inputs))[0].tolist()


def test_a_flip_flop_holds_what_was_stored_last():
    assert labels(WordProblem("cell", flip_flop(3)), 0, 2, 0, 3, 0, 1, 0) == [0, 1, 1, 2, 2, 0, 0]


def test_a_counter_goes_on_at_every_one():
    assert labels(WordProblem("mod 3", counter(3)), 1, 0, 1, 1, 1) == [1, 1, 2, 0, 1]


def test_an_automaton_begins_in_the_state_asked_for_which_becomes_state_0():
    table = [[1, 2, 0], [0, 0, 0]]
    moved, original = Automaton(table, start=2), Automaton(table)
    names = [2, 1, 0]
    for token in range(2):
        for state in range(3):
            assert names[moved.table[token, state]] == original.table[token, names[state]]


def test_a_monoid_acts_on_itself():
    """Maps of two points to themselves, as their images: the identity, the exchange, and the two constants."""
    maps = [(0, 1), (1, 0), (0, 0), (1, 1)]
    table = [[maps.index(tuple(a[i] for i in b)) for b in maps] for a in maps]
    task = WordProblem("maps", monoid(table))
    batch = task.sample(torch.Generator().manual_seed(0), 4, 32)
    for word, states in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        state = (0, 1)
        for token, label in zip(word, states, strict=True):
            state = tuple(maps[token][i] for i in state)
            assert maps[label] == state


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Automaton([]), "one row per token"),
        (lambda: Automaton([[0, 1], [0]]), "one row per token"),
        (lambda: Automaton([[0, 2]]), "row 0, column 1 holds 2, which is outside 0..1"),
        (lambda: Automaton([[0, 1]], start=2), "starts in one of its states 0..1, got 2"),
        (lambda: monoid([[0, 1], [1, 5]]), "row 1, column 1 holds 5"),
        (lambda: monoid([[1, 0], [0, 0]]), r"not at the triple \(0, 0, 1\)"),
        (lambda: monoid([[0, 0], [0, 0]]), "element 0 is its identity"),
        (lambda: flip_flop(1), "2 values or more, got 1"),
        (lambda: counter(0), "modulus of 1 or more, got 0"),
    ],
)
def test_what_is_no_automaton_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_an_automaton_is_read_from_json(tmp_path):
    file = tmp_path / "ends.json"
    file.write_text(json.dumps(ENDS_IN_AB))
    assert labels(WordProblem("ends in ab", read_automaton(str(file))), 0, 1, 1, 0, 0, 1) == [1, 2, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "nowhere"}, "start 'nowhere' is not one of the states"),
        ({"alphabet": ["a", "c"]}, "the transition of state 'none' by 'c' is None"),
        ({"transitions": {}}, "the transition of state 'none' by 'a' is None"),
        ({"states": None}, "states is missing"),
    ],
)
def test_a_wrong_automaton_file_is_one_line(tmp_path, change, message):
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps({key: value for key, value in (ENDS_IN_AB | change).items() if value is not None}))
    with pytest.raises(ValueError, match=message) as error:
        read_automaton(str(file))
    assert str(error.value).startswith(str(file))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["wrong.json", "wrong.csv", "wrong.npy"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, name):
    (tmp_path / name).write_text("0, 1\n{")
    with pytest.raises(ValueError, match=name) as error:
        read_automaton(str(tmp_path / name))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("suffix", ["csv", "npy", "spaces.csv"])
def test_a_group_is_read_from_its_table(tmp_path, suffix):
    table, file = named_group("S4").table, tmp_path / f"mine.{suffix}"
    if suffix == "npy":
        np.save(file, table)
    else:
        np.savetxt(file, table, fmt="%d", delimiter=" " if suffix.startswith("spaces") else ",")
    assert (read_group(str(file)).table == table).all()
    assert (WordProblem("mine", str(file)).group.table == table).all()
    assert (read_automaton(str(file)).table == table).all()


def test_a_table_that_is_no_group_is_named_with_the_triple(tmp_path):
    file = tmp_path / "loop.csv"
    file.write_text("0,1,2,3,4\n1,0,3,4,2\n2,4,0,1,3\n3,2,4,0,1\n4,3,1,2,0\n")
    with pytest.raises(ValueError, match=r"loop\.csv: not associative: \(1 \* 1\) \* 2 = 2, but 1 \* \(1 \* 2\) = 4"):
        WordProblem("mine", str(file))
