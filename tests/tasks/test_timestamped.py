"""Parity with a clock: gaps, sessions, and what a long gap resets."""

import pytest
import torch

from tasks.base import Batch
from tasks.timestamped import TimestampedParity


def drawn(task, batch, length):
    return task.sample(torch.Generator().manual_seed(3), batch, length)


@pytest.mark.parametrize(("resets", "expected"), [(True, [1, 1, 1, 1, 0]), (False, [1, 1, 0, 0, 1])])
def test_the_examples_of_the_docstring_hold(resets, expected):
    bits, gaps = torch.tensor([[1, 0, 1, 0, 1]]), torch.tensor([[0, 0.3, 61, 0.8, 0.2]])
    assert TimestampedParity("clock", resets).oracle(Batch(bits, bits, gaps))[0].tolist() == expected


def test_gaps_are_short_within_a_session_long_between_two_and_none_at_the_start():
    _, _, gaps = drawn(TimestampedParity("clock", True), 2000, 64)
    assert (gaps[:, 0] == 0).all()
    later = gaps[:, 1:]
    between = later >= 50
    assert between.double().mean() == pytest.approx(0.05, abs=0.005)
    assert between.sum(1).double().mean() == pytest.approx(3.2, abs=0.15)
    assert later[between].max() <= 100
    assert 0.1 <= later[~between].min() <= later[~between].max() <= 1
    assert later[between].mean() == pytest.approx(75, abs=1)
    assert later[~between].mean() == pytest.approx(0.55, abs=0.01)


def test_a_session_begins_anew_whatever_came_before():
    bits, targets, gaps = drawn(TimestampedParity("clock", True), 200, 64)
    for word, labels, clock in zip(bits.tolist(), targets.tolist(), gaps.tolist(), strict=True):
        start = 0
        for t, label in enumerate(labels):
            start = t if clock[t] > 10 else start
            assert label == sum(word[start : t + 1]) % 2


def test_both_tasks_see_the_same_bits_and_gaps_from_one_generator():
    reset, plain = (drawn(TimestampedParity("clock", each), 8, 64) for each in (True, False))
    assert torch.equal(reset.inputs, plain.inputs)
    assert torch.equal(reset.delta_t, plain.delta_t)
    assert torch.equal(plain.targets, plain.inputs.cumsum(1) % 2)
