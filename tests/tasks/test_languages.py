"""Brackets, arithmetic and lists: grammar, values and floors, each worked out a second way."""

import itertools
import statistics
from collections import Counter

import pytest
import torch

from tasks.base import Batch
from tasks.dyck import Dyck
from tasks.listops import NAMES, ListOps
from tasks.modular_arithmetic import ModularArithmetic

SYMBOLS = "01234+-*()"


def drawn(task, batch, length, seed=3):
    return task.sample(torch.Generator().manual_seed(seed), batch, length)


def answers(task, *inputs):
    return task.oracle(Batch(torch.tensor([inputs]), torch.empty(0)))[0].tolist()


def test_the_examples_of_the_docstrings_hold():
    assert answers(Dyck("dyck", n_kinds=2), 0, 1, 3, 2, 1, 0) == [0, 1, 0, 2, 1, 0]
    assert answers(Dyck("dyck", n_kinds=1), 0, 0, 1, 1, 0) == [0, 0, 0, 1, 0]
    assert answers(ListOps("listops"), 12, 3, 8, 14) == 5
    assert answers(ModularArithmetic("arithmetic", brackets=False), 2, 5, 3, 7, 4) == 14 % 5
    assert answers(ModularArithmetic("arithmetic", brackets=True), 8, 6, 3, 7, 8, 1, 9, 9) == -3 % 5
    assert answers(ListOps("listops"), 11, 4, 13, 7, 6, 14, 1, 14) == 4
    assert [NAMES[token] for token in (11, 4, 13, 7, 6, 14, 1, 14)] == "[MAX 4 [SM 7 6 ] 1 ]".split()


@pytest.mark.parametrize(("n_kinds", "depth"), [(1, 1), (2, 3), (4, 5), (3, 12)])
def test_brackets_are_nested_no_deeper_than_allowed_and_the_target_is_the_innermost(n_kinds, depth):
    task = Dyck("dyck", n_kinds, depth)
    inputs, targets, _ = drawn(task, 64, 65)
    deepest = 0
    for word, labels in zip(inputs.tolist(), targets.tolist(), strict=True):
        opened = []
        for token, label in zip(word, labels, strict=True):
            if token < n_kinds:
                opened.append(token)
            else:
                assert opened.pop() == token - n_kinds
            deepest = max(deepest, len(opened))
            assert label == (opened or [n_kinds])[-1]
    assert deepest == depth


def test_dycks_floors_alternate_with_the_depth_and_are_exact():
    task = Dyck("dyck", n_kinds=2, depth=2)
    # Depth is 1, then 0 or 2 with equal chance, then 1, ...
    assert task.position_chance(4).tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 2, 1 / 2])
    assert Dyck("dyck", n_kinds=4, depth=1).position_chance(4).tolist() == pytest.approx([1 / 4, 1, 1 / 4, 1])
    assert Dyck("dyck", n_kinds=4, depth=1).constant(4) == pytest.approx(1 / 2)


@pytest.mark.parametrize("brackets", [False, True])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 8, 11, 64])
def test_an_expression_has_the_value_that_python_gives_it(brackets, length):
    inputs, targets, _ = drawn(ModularArithmetic("arithmetic", brackets), 50, length)
    for word, value in zip(inputs.tolist(), targets.tolist(), strict=True):
        text = "".join(SYMBOLS[token] for token in word)
        assert len(text) == length
        assert eval(text) % 5 == value
        assert brackets or "(" not in text


def test_without_brackets_digits_and_operators_take_turns_after_a_sign_where_the_length_is_even():
    odd, even = (drawn(ModularArithmetic("arithmetic", False), 50, n).inputs for n in (9, 10))
    assert (even[:, 0] == 6).all()
    for words in (odd, even[:, 1:]):
        assert (words[:, ::2] < 5).all()
        assert (words[:, 1::2] >= 5).all()
        assert words.unique().tolist() == list(range(8))


def test_with_brackets_every_operation_has_its_own():
    for word in drawn(ModularArithmetic("arithmetic", True), 100, 21).inputs.tolist():
        text = "".join(SYMBOLS[token] for token in word)
        assert text.count("(") == text.count(")")
        operations = sum(a in "01234)" and b in "+-*" for a, b in itertools.pairwise(text))
        single = sum(text[i] == "(" and text[i + 1 :].split(")")[0].lstrip("-").isdigit() for i in range(len(text)))
        assert text.count("(") == operations + single
    assert drawn(ModularArithmetic("arithmetic", True), 100, 21).inputs.unique().tolist() == list(range(10))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_the_floor_without_brackets_is_that_of_all_expressions(length):
    digits, operators = range(3), range(3, 6)
    turns = [digits if (t - (length + 1) % 2) % 2 == 0 else operators for t in range(length)]
    if length % 2 == 0:
        turns[0] = [4]
    values = [eval("".join("012+-*"[token] for token in word)) % 3 for word in itertools.product(*turns)]
    best = max(Counter(values).values()) / len(values)
    assert ModularArithmetic("arithmetic", brackets=False, modulus=3).chance(length) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("length", [1, 4, 5, 9, 12, 13, 30])
def test_the_floor_with_brackets_is_that_of_counting(length):
    task = ModularArithmetic("arithmetic", True, modulus=3)
    values = drawn(task, 20_000, length).targets
    assert task.chance(length) == pytest.approx((values.bincount().max() / 20_000).item(), abs=0.015)


def lisp(tokens):
    """The value of the tokens by recursion, with Python's own functions."""
    functions = {"[MIN": min, "[MAX": max, "[MED": lambda x: int(statistics.median(x)), "[SM": lambda x: sum(x) % 10}
    token = tokens.pop(0)
    if token not in functions:
        return int(token)
    arguments = []
    while tokens[0] != "]":
        arguments.append(lisp(tokens))
    tokens.pop(0)
    return functions[token](arguments)


@pytest.mark.parametrize("length", [1, 3, 4, 5, 6, 7, 8, 9, 13, 64])
@pytest.mark.parametrize("max_arguments", [3, 10])
def test_a_list_expression_is_one_whole_tree_with_the_value_that_python_gives_it(length, max_arguments):
    inputs, targets, _ = drawn(ListOps("listops", max_arguments), 60, length)
    for word, value in zip(inputs.tolist(), targets.tolist(), strict=True):
        tokens = [NAMES[token] for token in word]
        assert lisp(tokens) == value
        assert not tokens


def test_list_operations_have_few_arguments_and_every_kind_of_token_occurs():
    words = drawn(ListOps("listops", 4), 200, 40).inputs
    assert words.unique().tolist() == list(range(15))
    for word in words.tolist():
        arguments = []
        for token in word:
            if 10 <= token < 14:
                arguments.append(0)
            else:
                count = 1 if token < 10 else arguments.pop()
                assert 1 <= count <= 4
                if arguments:
                    arguments[-1] += 1


def test_the_length_of_a_list_expression_is_spread_over_its_arguments():
    nested = [word.count(14) for word in drawn(ListOps("listops"), 500, 64).inputs.tolist()]
    assert len(set(nested)) > 6


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Dyck("dyck", 0), "n_kinds and depth are 1 or more, got 0 and 5"),
        (lambda: answers(Dyck("dyck", 2), 0, 3), "not well nested"),
        (lambda: ModularArithmetic("arithmetic", True, 1), "modulus is 2 or more, got 1"),
        (lambda: ListOps("listops", 2), "max_arguments is 3 or more, got 2"),
        (lambda: ListOps("listops").check_length(2), "length 2 is that of no expression; nearest valid: 1 and 3"),
    ],
)
def test_settings_and_lengths_that_do_not_fit_are_one_line(build, message):
    with pytest.raises(ValueError, match=message):
        build()
