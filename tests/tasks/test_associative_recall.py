"""Associative recall: where pairs, filler and questions stand, and how often."""

import pytest
import torch

from tasks.associative_recall import Mqar, ZoologyMqar
from tasks.base import IGNORE, Batch


def drawn(task, batch, length):
    return task.sample(torch.Generator().manual_seed(3), batch, length)


def answers(task, inputs, targets):
    return task.oracle(Batch(torch.tensor([inputs]), torch.tensor([targets])))[0].tolist()


def test_the_examples_of_the_docstrings_hold():
    plain = [IGNORE] * 6 + [6, 5]
    assert answers(Mqar("mqar", n_keys=4, pairs=2), [3, 5, 0, 6, 4, 7, 0, 3], plain) == plain
    zoology = [IGNORE] * 4 + [6, IGNORE, 5, IGNORE]
    assert answers(ZoologyMqar("zoology", n_tokens=8, pairs=2), [3, 5, 1, 6, 1, 0, 3, 0], zoology) == zoology
    plain = [IGNORE] * 4 + [7]
    assert answers(Mqar("mqar", n_keys=4, pairs=1), [2, 7, 4, 6, 2], plain) == plain
    zoology = [IGNORE] * 4 + [5, IGNORE]
    assert answers(ZoologyMqar("zoology", n_tokens=8, pairs=1), [2, 5, 0, 0, 2, 0], zoology) == zoology


@pytest.mark.parametrize(
    ("length", "pairs", "settings"), [(64, 8, {}), (256, 32, {}), (256, 16, {"pairs": 16}), (1024, 32, {}), (24, 8, {"pairs": 8})]
)
def test_the_ladders_layout(length, pairs, settings):
    task = Mqar("mqar", **settings)
    inputs, targets, _ = drawn(task, 64, length)
    keys, values, questions = inputs[:, : 2 * pairs : 2], inputs[:, 1 : 2 * pairs : 2], inputs[:, length - pairs :]
    assert all(len(set(row)) == pairs for row in keys.tolist())
    assert keys.max() < 32 <= values.min()
    assert (inputs[:, 2 * pairs : length - pairs] >= 32).all()
    assert torch.equal(questions.sort(1).values, keys.sort(1).values)
    assert any(a != b for a, b in zip(questions.tolist(), keys.tolist(), strict=True))
    assert (targets[:, : length - pairs] == IGNORE).all()
    for key, value, question, answer in zip(keys.tolist(), values.tolist(), questions.tolist(), targets[:, -pairs:].tolist(), strict=True):
        assert answer == [dict(zip(key, value, strict=True))[q] for q in question]


@pytest.mark.parametrize(("length", "pairs", "settings"), [(64, 4, {}), (128, 8, {}), (256, 16, {}), (64, 8, {"pairs": 8, "n_passes": 2})])
def test_zoologys_layout(length, pairs, settings):
    task = ZoologyMqar("zoology", **settings)
    context = 2 * pairs * task.n_passes
    inputs, targets, _ = drawn(task, 64, length)
    for word, answer in zip(inputs.tolist(), targets.tolist(), strict=True):
        pair = dict(zip(word[: 2 * pairs : 2], word[1 : 2 * pairs : 2], strict=True))
        assert word[:context] == word[: 2 * pairs] * task.n_passes
        assert len(pair) == len(set(pair.values())) == pairs
        assert all(0 < key < 128 <= value < 256 for key, value in pair.items())
        asked = [t for t, label in enumerate(answer) if label != IGNORE]
        assert sorted(word[t] for t in asked) == sorted(pair)
        assert all(t >= context and t % 2 == 0 and answer[t] == pair[word[t]] for t in asked)
        assert all(word[t] == 0 for t in range(context, length) if t not in asked)


def test_zoologys_questions_come_soon_after_the_pairs_or_evenly():
    near, even = (drawn(ZoologyMqar("zoology", power=power), 4000, 64).targets != IGNORE for power in (0.01, 1.0))
    near, even = (asked[:, 8::2].double().mean(0) for asked in (near, even))
    assert near.argmax() == 0
    assert near[0] > 3 * near[14]
    assert even == pytest.approx([4 / 28] * 28, abs=0.03)


def test_zoologys_gaps_are_drawn_one_after_the_other_without_replacement():
    """Two of three spaces with weights 1, 2^-.99, 3^-.99: the chance that the first is among them."""
    weights = [i**-0.99 for i in (1, 2, 3)]
    total = sum(weights)
    first = weights[0] / total + sum(w / total * weights[0] / (total - w) for w in weights[1:])
    asked = drawn(ZoologyMqar("zoology", n_tokens=8, pairs=2), 20_000, 10).targets != IGNORE
    assert asked[:, 4].double().mean() == pytest.approx(first, abs=0.01)


def test_random_filler_leaves_pairs_questions_and_answers_as_they_are():
    plain, filled = (drawn(ZoologyMqar("zoology", random_non_queries=each), 64, 64) for each in (False, True))
    assert torch.equal(plain.targets, filled.targets)
    kept = plain.inputs > 0
    assert torch.equal(plain.inputs[kept], filled.inputs[kept])
    assert (filled.inputs[~kept] > 0).double().mean() > 0.98


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Mqar("mqar", pairs=33), "pairs from 1 to n_keys or null, got 32, 8 and 33"),
        (lambda: Mqar("mqar", tokens_per_pair=2), "tokens_per_pair 3 or more"),
        (lambda: Mqar("mqar", pairs=8).check_length(23), "length 23 is less than the 24 of its pairs; nearest valid: 24"),
        (lambda: Mqar("mqar").check_length(7), "length 7 is less than the 8 of its pairs; nearest valid: 8"),
        (lambda: ZoologyMqar("zoology", n_tokens=7), "n_tokens is even and 4 or more"),
        (lambda: ZoologyMqar("zoology", power=0.0), r"power in \(0, 1\], got 256, 1 and 0.0"),
        (lambda: ZoologyMqar("zoology", tokens_per_pair=3), "tokens_per_pair is 4 or more"),
        (lambda: ZoologyMqar("zoology", pairs=128), "pairs from 1 to 127 or null, got 16 and 128"),
        (lambda: ZoologyMqar("zoology").check_length(65), "length 65 is odd; nearest valid: 64 and 66"),
        (lambda: ZoologyMqar("zoology", pairs=4).check_length(14), "length 14 is less than the 16 of its pairs; nearest valid: 16"),
    ],
)
def test_settings_and_lengths_that_do_not_fit_are_one_line(build, message):
    with pytest.raises(ValueError, match=message):
        build()
