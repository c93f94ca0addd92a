"""Limited training sets and length curricula: what reaches the stack, and that a killed run goes on as if nothing had happened."""

import pytest
import torch

import train
from mingru.metrics import last_accuracy
from mingru.tagger import SequenceTagger
from tests.composed import tiny, without_clock
from tests.test_training import interrupt

# Two batches a stage, whatever the untrained stack answers, from 2 to 8 tokens.
DOUBLING = ("curriculum=doubling", "task=parity", "curriculum.bar=1e-3", "curriculum.smoothing=0.5", "curriculum.tokens=32", "steps=8")
RECIPES = {
    "limited": ("train_sequences=7", "task=s3"),
    "doubling": DOUBLING,
    "uniform": ("curriculum=uniform", "task=s3"),
    "linear": ("curriculum=linear", "task=s3"),
}


@pytest.fixture
def seen(monkeypatch):
    """The training batches that reach the stack."""
    batches, step = [], SequenceTagger.training_step

    def training_step(tagger, batch, index):
        batches.append(batch.inputs.clone())
        return step(tagger, batch, index)

    monkeypatch.setattr(SequenceTagger, "training_step", training_step)
    return batches


def test_a_limited_training_set_is_all_that_a_run_sees(tmp_path, seen):
    train.run(tiny(tmp_path, *RECIPES["limited"], "steps=9"))
    limited = [tuple(row) for batch in seen for row in batch.tolist()]
    seen.clear()
    train.run(tiny(tmp_path, "task=s3", "steps=2"))
    first = [tuple(row) for batch in seen for row in batch.tolist()][:7]
    rounds = [limited[start : start + 7] for start in range(0, 35, 7)]
    assert all(sorted(each) == sorted(first) for each in rounds)
    assert len(set(map(tuple, rounds))) > 1


def test_a_doubling_curriculum_follows_the_run(tmp_path, seen):
    record = train.run(tiny(tmp_path, *DOUBLING))
    starts = {stage["length"]: stage["step"] for stage in record["stages"]}
    assert list(starts) == [2, 4, 8]
    lengths = [batch.shape[1] for batch in seen]
    assert {length: lengths.index(length) for length in starts} == starts
    assert lengths == sorted(lengths)
    assert all(batch.shape[0] == {2: 16, 4: 8, 8: 4}[batch.shape[1]] for batch in seen)


def test_what_is_never_accurate_never_doubles(tmp_path, seen):
    """Of 120 answers an untrained stack gets few right, and the bar is at all of them."""
    record = train.run(tiny(tmp_path, "task=s5", "curriculum=doubling", "curriculum.bar=1.0"))
    assert record["stages"] == [{"step": 0, "length": 2}]
    assert {batch.shape for batch in seen} == {(2048, 2)}


@pytest.mark.parametrize("step", range(1, 6))
def test_an_interrupted_doubling_run_goes_on_as_if_nothing_had_happened(monkeypatch, tmp_path, seen, step):
    straight = train.run(tiny(tmp_path / "straight", *DOUBLING))
    expected = [*seen]
    seen.clear()
    cut = tiny(tmp_path / "cut", *DOUBLING)
    interrupt(monkeypatch, cut, step, save=True)
    # A checkpoint waits for the validation that is due.
    resumed_from = step if step % 2 else step - 2
    del seen[resumed_from:]
    assert without_clock(train.run(cut)) == without_clock(straight)
    assert len(seen) == len(expected)
    assert all(map(torch.equal, seen, expected))


@pytest.mark.parametrize("recipe", ["limited", "uniform", "linear"])
@pytest.mark.parametrize(("step", "save"), [(1, True), (3, True), (5, False)])
def test_an_interrupted_run_goes_on_in_the_middle_of_a_round_or_a_schedule(monkeypatch, tmp_path, recipe, step, save):
    straight = train.run(tiny(tmp_path / "straight", *RECIPES[recipe]))
    cut = tiny(tmp_path / "cut", *RECIPES[recipe])
    interrupt(monkeypatch, cut, step, save)
    assert without_clock(train.run(cut)) == without_clock(straight)


def test_the_accuracy_that_a_curriculum_watches_is_that_of_the_last_scored_position():
    logits = torch.eye(3)[torch.tensor([[0, 1, 2], [0, 1, 2], [2, 2, 2], [1, 0, 0]])]
    targets = torch.tensor([[1, 1, 2], [0, 1, -100], [-100, 1, -100], [1, -100, -100]])
    assert last_accuracy(logits, targets) == 3 / 4
    assert last_accuracy(logits[:, 0], torch.tensor([0, 1, 2, 2])) == 2 / 4
