"""scripts/exact.py: wrong answers counted on fresh sequences, kept beside the run and published with it."""

from pathlib import Path

import pytest
import torch

import train
from mingru.analysis import hardened_run
from mingru.metrics import IGNORE
from mingru.sweep import published, records
from scripts import exact, publish
from tests.analysis.models import trained_s3
from tests.analysis.test_harden_script import made
from tests.composed import tiny


def right_and_wrong(outputs):
    """A run that nearly represents S3, and one of six steps that does not."""
    directory, record = made(outputs, "task=s3", "mixer=givens")
    stack = trained_s3()
    hardened_run.write(directory, stack, record | {"config": hardened_run.config_of(record["config"], stack)}, {})
    return directory, made(outputs, "task=s3", "mixer=givens", "seed=1")[0]


def test_wrong_answers_are_counted_and_only_enough_sequences_make_a_run_exact(tmp_path, capsys):
    right, wrong = right_and_wrong(tmp_path)
    assert exact.main([str(right), str(wrong), "--lengths", "4", "8", "--sequences", "2048"]) == 0
    found = records.read_json(right / "exactness.json")
    assert found["measured"]["8"] == {"sequences": 2048, "tokens": 16_384, "wrong": 0, "first_wrong": None}
    assert found["exact_at"] == [4, 8]
    other = records.read_json(wrong / "exactness.json")
    assert other["exact_at"] == []
    assert other["measured"]["8"]["wrong"] > 0
    assert "2,048" in capsys.readouterr().out
    assert exact.main([str(right), "--lengths", "8", "--sequences", "2047"]) == 0
    assert records.read_json(right / "exactness.json")["exact_at"] == []


def test_the_lock_beside_a_run_is_passed_over(tmp_path, capsys):
    directory, _ = made(tmp_path, "mixer=givens")
    lock = Path(f"{directory}.lock")
    lock.touch()
    found = sorted(directory.parent.glob("s*"))
    assert found == [directory, lock]
    assert exact.main([*map(str, found), "--lengths", "8", "--sequences", "3"]) == 0
    assert capsys.readouterr().err == ""


def test_counts_are_those_of_the_model_token_by_token(tmp_path):
    _, wrong = right_and_wrong(tmp_path)
    assert exact.main([str(wrong), "--lengths", "16", "--sequences", "200"]) == 0
    stack, cfg = train.load_run(wrong)
    batches = list(exact.fresh(train.resolve(cfg)[1], 16, 200))
    assert [len(inputs) for inputs, _ in batches] == [128, 72]
    missed = sum(int((stack(inputs)[0].argmax(-1) != targets).sum()) for inputs, targets in batches)
    assert records.read_json(wrong / "exactness.json")["measured"]["16"]["wrong"] == missed


def test_positions_that_are_not_scored_are_not_counted():
    stack = trained_s3()
    targets = torch.full((3, 5), IGNORE)
    assert exact.count(stack, [(torch.zeros(3, 5, dtype=torch.int64), targets)]).tokens == 0
    targets[0, 2] = 5
    found = exact.count(stack, [(torch.zeros(3, 5, dtype=torch.int64), targets)])
    assert (found.tokens, found.wrong, found.first) == (1, 1, 3)


def test_where_a_run_is_exact_is_published_with_it_also_later(tmp_path):
    right, _ = right_and_wrong(tmp_path / "outputs")
    file = tmp_path / "study.jsonl"
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 0
    exact.main([str(right), "--lengths", "4", "--sequences", "5"])
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 0
    kept = list(published.read(file).values())
    assert len(kept) == 2
    assert [record["exactness"]["exact_at"] for record in kept if "exactness" in record] == [[]]


@pytest.mark.parametrize(
    ("overrides", "what"), [(["task=pendulum", "mixer=gru"], "pendulum does not stream a class"), ([], "holds no finished run")]
)
def test_what_has_no_answers_to_count_is_one_line(tmp_path, overrides, what, capsys):
    directory = tmp_path / "nothing"
    if overrides:
        record = train.run(tiny(tmp_path, *overrides))
        directory = records.run_directory(record["config"])
    assert exact.main([str(directory), "--lengths", "4"]) == 1
    assert what in capsys.readouterr().err
