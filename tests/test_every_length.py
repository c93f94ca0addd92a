"""Scores at every length from 1 to L, in one pass where sequences cut short are sequences."""

from types import SimpleNamespace

import pytest
import torch

import train
from mingru import result
from mingru.metrics import Scores
from mingru.sweep import records
from tests.composed import tiny
from tests.test_training import CONTRACT_KEYS

EVERY = ("evaluation.every_length=12", "steps=4")


def shares(cfg):
    """Right answers by sequence and position in the test sequences of 12 tokens, from the run's weights; null where nothing is scored."""
    config, task = train.resolve(cfg)
    stack, _ = train.load_run(records.run_directory(config))
    batches = list(train.data_module(config, task).loader("test", 12, 8))
    with torch.no_grad():
        return [
            torch.stack([stack(batch.inputs[:, :n])[0].argmax(-1)[:, n - 1] == batch.targets[:, n - 1] for n in range(1, 13)], 1)
            for batch in batches
        ]


@pytest.mark.parametrize("task", ["s3", "parity", "flip_flop"])
def test_one_pass_over_the_longest_gives_what_every_prefix_by_itself_gives(tmp_path, task):
    cfg = tiny(tmp_path, f"task={task}", *EVERY)
    record = train.run(cfg)
    right = torch.cat(shares(cfg)).double()
    assert set(record) == CONTRACT_KEYS | {"accuracy_by_length", "last_accuracy_by_length"}
    for n in range(1, 13):
        assert record["accuracy_by_length"][str(n)] == pytest.approx(right[:, :n].mean().item())
        assert record["last_accuracy_by_length"][str(n)] == pytest.approx(right[:, n - 1].mean().item())
    assert list(record["accuracy_by_length"]) == [str(n) for n in range(1, 13)]


def test_at_a_test_length_it_is_the_accuracy_there(tmp_path):
    """The sequences of a length are those of its test."""
    record = train.run(tiny(tmp_path, "task=s3", "evaluation.every_length=16", "steps=2"))
    assert record["accuracy_by_length"]["16"] == record["accuracy"]["16"]


def test_other_numbers_are_what_they_are_without_it(tmp_path):
    on, off = (train.run(tiny(tmp_path, "task=s3", "steps=4", *more)) for more in (["evaluation.every_length=12"], []))
    for key in ("validation", "selection", "accuracy", "sequence_accuracy", "position_accuracy", "evaluated", "chance", "fit"):
        assert on[key] == off[key]


def test_only_lengths_that_the_task_has_are_listed(tmp_path):
    record = train.run(tiny(tmp_path, "task=s3_hier", "evaluation.every_length=7", "steps=2"))
    assert list(record["accuracy_by_length"]) == list(record["last_accuracy_by_length"]) == ["2", "4", "6"]


def test_errors_are_by_length_too_and_no_longest_length_is_sought():
    tagger, scores = SimpleNamespace(score="error"), [Scores(loss=1.0, scored=4), Scores(loss=3.0, scored=2)]
    record = result.every_length_record(tagger, [(1, [1]), (2, [2])], scores)
    assert record == {"error_by_length": {"1": 0.25, "2": 1.5}}
    assert result.longest_above({"error": {"8": 0.1}, **record}) == {}


def test_one_answer_at_the_end_is_the_accuracy_of_its_length():
    scores = Scores()
    targets = torch.tensor([0, 1, 1, 2])
    batch = SimpleNamespace(inputs=torch.zeros(4, 12), targets=targets, delta_t=None)
    scores.update(lambda inputs, state, gaps: (torch.eye(3)[torch.tensor([0, 1, 2, 2])], None), batch)
    assert scores.accuracy_to(12) == scores.accuracy_at(12) == scores.accuracy == 3 / 4


def test_positions_that_are_not_scored_are_null_and_count_for_nothing():
    scores = Scores(position_correct=torch.tensor([0, 3, 0, 1]), position_scored=torch.tensor([0, 4, 0, 4]))
    assert [scores.accuracy_at(n) for n in range(1, 5)] == [None, 3 / 4, None, 1 / 4]
    assert [scores.accuracy_to(n) for n in range(1, 5)] == [None, 3 / 4, 3 / 4, 1 / 2]


@pytest.mark.parametrize(
    ("accuracy", "every", "longest"),
    [
        ({"64": 1.0, "256": 0.91, "512": 0.9}, {}, 256),
        ({"64": 0.5}, {"1": 0.95, "2": 0.95, "3": 0.89, "12": 0.92}, 12),
        ({"64": 0.5}, {"1": None}, None),
        ({"64": None}, {"1": None}, None),
    ],
)
def test_the_longest_length_is_sought_among_all_that_were_measured(accuracy, every, longest):
    assert result.longest_above({"accuracy": accuracy, "accuracy_by_length": every}) == {"longest_above": longest}


def test_a_diverged_run_has_nulls_at_every_length(tmp_path):
    record = train.run(tiny(tmp_path, "task=s3", *EVERY, "lr=1e30"))
    assert record["status"] == "diverged"
    assert set(record["accuracy_by_length"].values()) == set(record["last_accuracy_by_length"].values()) == {None}
    assert record["longest_above"] is None
