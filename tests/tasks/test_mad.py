"""Recall, selective copying and compression: layout, examples, and what training scores."""

import pytest
import torch

from tasks.base import IGNORE, Batch
from tasks.datamodule import EvaluationBatches, TrainBatches
from tasks.mad import Compression, InContextRecall, SelectiveCopying


def drawn(task, batch, length):
    return task.sample(torch.Generator().manual_seed(3), batch, length)


def answers(task, *inputs):
    word = torch.tensor([inputs])
    return task.oracle(Batch(word, word))[0].tolist()


def test_the_examples_of_the_docstrings_hold():
    ignored = IGNORE
    recall = [ignored, ignored, ignored, ignored, 6, ignored, 4, ignored]
    assert answers(InContextRecall("recall", n_tokens=8), 1, 6, 3, 4, 1, 6, 3, 4) == recall
    assert answers(SelectiveCopying("copying", n_tokens=8, n_copied=2), 6, 3, 6, 6, 0, 7, 6, 6) == [ignored] * 6 + [3, 0]
    assert answers(Compression("compression", n_tokens=8), 2, 0, 6, 6, 7) == [2, 0, 6, 6, 7]
    assert answers(InContextRecall("recall", n_tokens=4), 0, 2, 0, 2) == [ignored, ignored, 2, ignored]
    assert answers(SelectiveCopying("copying", n_tokens=4, n_copied=1), 2, 2, 1, 3, 2) == [ignored] * 4 + [1]
    assert answers(Compression("compression", n_tokens=3), 1, 0, 2) == [1, 0, 2]


@pytest.mark.parametrize(("n_tokens", "length"), [(16, 64), (32, 64), (16, 128), (16, 4)])
def test_recall_scores_the_values_of_keys_seen_before_and_in_training_every_next_token(n_tokens, length):
    task = InContextRecall("recall", n_tokens)
    tested, trained = drawn(task, 32, length), drawn(task.split("train"), 32, length)
    assert torch.equal(tested.inputs, trained.inputs)
    assert torch.equal(trained.targets[:, :-1], trained.inputs[:, 1:])
    assert (trained.targets[:, -1] == IGNORE).all()
    for word, targets in zip(tested.inputs.tolist(), tested.targets.tolist(), strict=True):
        value_of = {}
        for t in range(0, length, 2):
            assert word[t] < n_tokens // 2 <= word[t + 1]
            assert targets[t] == (word[t + 1] if word[t] in value_of else IGNORE)
            assert targets[t + 1] == IGNORE
            assert value_of.setdefault(word[t], word[t + 1]) == word[t + 1]
        assert targets[length - 2] != IGNORE


def test_recall_is_trained_and_evaluated_as_its_splits_say():
    task = InContextRecall("recall")
    assert (TrainBatches(task, 0, 16, 4)[0].targets != IGNORE).sum() == 4 * 15
    assert (TrainBatches(task, 0, 16, 4, limit=8)[0].targets != IGNORE).sum() == 4 * 15
    for split in ("validation", "fresh", "test"):
        assert (EvaluationBatches(task, split, 16, 128)[0].targets[:, 1::2] == IGNORE).all()


@pytest.mark.parametrize(("n_tokens", "n_copied", "length"), [(16, 16, 64), (16, 16, 33), (5, 3, 20)])
def test_copying_writes_the_tokens_in_order_into_the_blanks_after_the_sign(n_tokens, n_copied, length):
    inputs, targets, _ = drawn(SelectiveCopying("copying", n_tokens, n_copied), 200, length)
    sign, blank = n_tokens - 1, n_tokens - 2
    for word, answer in zip(inputs.tolist(), targets.tolist(), strict=True):
        text, end = word[: length - n_copied - 1], word[length - n_copied - 1 :]
        assert end == [sign] + [blank] * n_copied
        assert [token for token in text if token != blank] == answer[length - n_copied :]
        assert text[-1] != blank
        assert answer[: length - n_copied] == [IGNORE] * (length - n_copied)


def test_every_blank_stands_before_any_token_as_often_as_before_any_other():
    inputs, _, _ = drawn(SelectiveCopying("copying", 6, 4), 20_000, 10)
    # One blank among four tokens: it takes each of the first four places.
    place = (inputs[:, :5] == 4).int().argmax(1)
    assert place.bincount(minlength=5) / 20_000 == pytest.approx([0.25] * 4 + [0], abs=0.015)


def test_a_word_to_compress_ends_with_its_sign_and_has_it_nowhere_else():
    inputs, targets, _ = drawn(Compression("compression"), 200, 16)
    assert (inputs[:, -1] == 15).all()
    assert inputs[:, :-1].unique().tolist() == list(range(15))
    assert torch.equal(inputs, targets)
    task = Compression("compression")
    assert task.chance(16) == pytest.approx((15 / 15 + 1) / 16)
    assert task.constant(4) == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: InContextRecall("recall", 15), "n_tokens is even and 2 or more, got 15"),
        (lambda: InContextRecall("recall").check_length(63), "not an even number from 4 on; nearest valid: 62 and 64"),
        (lambda: InContextRecall("recall").check_length(2), "nearest valid: 4"),
        (lambda: SelectiveCopying("copying", 2), "n_tokens is 3 or more and n_copied 1 or more, got 2 and 16"),
        (lambda: SelectiveCopying("copying").check_length(32), "length 32 is less than 33; nearest valid: 33"),
        (lambda: Compression("compression", 1), "n_tokens is 2 or more, got 1"),
        (lambda: Compression("compression").check_length(1), "length 1 is less than 2; nearest valid: 2"),
    ],
)
def test_settings_and_lengths_that_do_not_fit_are_one_line(build, message):
    with pytest.raises(ValueError, match=message):
        build()
