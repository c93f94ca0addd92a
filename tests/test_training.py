import json
import math

import lightning as L
import pytest
import torch

import train
from mingru import training
from mingru.callbacks import Resumable
from mingru.metrics import Scores
from mingru.sweep import records
from tests.composed import tiny, without_clock

CONTRACT_KEYS = set(
    "task mixer extractor layers length seed attempt threads steps status fit fit_selected selection steps_to_fit validation accuracy "
    "sequence_accuracy longest_above chance constant position_accuracy evaluated parameters composer_parameters state_size seconds cell "
    "code commit dirty versions device config".split()
)


class StopAt(L.Callback):
    """Ends the run after `step`, as a kill would: with a checkpoint of that very step, or with what was saved before."""

    def __init__(self, step: int, save: bool) -> None:
        self.step, self.save = step, save

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            if self.save:
                next(callback for callback in trainer.callbacks if isinstance(callback, Resumable)).save(trainer)
            raise InterruptedError("killed")


def interrupt(monkeypatch, cfg, step, save):
    make = training.make_trainer
    with monkeypatch.context() as patch:
        patch.setattr(training, "make_trainer", lambda protocol, callbacks, *rest: make(protocol, [*callbacks, StopAt(step, save)], *rest))
        with pytest.raises(InterruptedError):
            train.run(cfg)
    (records.run_directory(train.resolve(cfg)[0]) / records.FAILURE).unlink()


def test_a_run_leaves_every_key_of_the_contract(tmp_path):
    record = train.run(tiny(tmp_path))
    directory = records.run_directory(train.resolve(tiny(tmp_path))[0])
    assert set(record) == CONTRACT_KEYS
    assert json.loads((directory / "result.json").read_text()) == json.loads(json.dumps(record))
    assert "${" not in (directory / "result.json").read_text()
    started = json.loads((directory / "started.json").read_text())
    assert {key: record[key] for key in started if key != "started_at"} == {k: v for k, v in started.items() if k != "started_at"}
    assert [entry["step"] for entry in record["validation"]] == [2, 4, 6]
    assert record["evaluated"] == {"8": 8, "16": 8}
    assert sorted(file.name for file in directory.iterdir() if file.suffix != ".log") == ["result.json", "started.json", "weights.pt"]


def test_the_last_step_is_always_evaluated(tmp_path):
    record = train.run(tiny(tmp_path, "steps=5", "evaluation.every=3"))
    assert [entry["step"] for entry in record["validation"]] == [3, 5]
    record = train.run(tiny(tmp_path, "steps=2", "evaluation.every=3"))
    assert [entry["step"] for entry in record["validation"]] == [2]


def test_a_seed_alone_equals_the_seed_again(tmp_path):
    first, second = (train.run(tiny(tmp_path / name, "seed=0")) for name in "ab")
    other = train.run(tiny(tmp_path / "c", "seed=1"))
    assert without_clock(first) == without_clock(second)
    assert first["validation"] != other["validation"]


@pytest.mark.parametrize(("step", "save"), [(3, False), (3, True), (4, False), (5, True), (1, True), (1, False)])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(monkeypatch, tmp_path, step, save):
    straight = train.run(tiny(tmp_path / "straight"))
    cut = tiny(tmp_path / "cut")
    interrupt(monkeypatch, cut, step, save)
    assert without_clock(train.run(cut)) == without_clock(straight)


def test_the_selected_weights_are_the_earliest_of_the_best(tmp_path):
    record = train.run(tiny(tmp_path, "steps=12", "lr=1e-9"))
    assert len({entry["accuracy"] for entry in record["validation"]}) == 1
    assert record["selection"]["step"] == 2


def test_the_last_weights_are_selected_where_that_is_asked_for(tmp_path):
    record = train.run(tiny(tmp_path, "steps=12", "lr=1e-9", "evaluation.select_last=true"))
    assert record["selection"]["step"] == 12
    learnt = train.run(tiny(tmp_path, "steps=13", "evaluation.every=5", "evaluation.select_last=true"))
    assert [entry["step"] for entry in learnt["validation"]] == [5, 10, 13]
    assert learnt["selection"]["step"] == 13
    assert learnt["selection"]["accuracy"] == learnt["validation"][-1]["accuracy"]


def test_load_run_gives_the_selected_weights_back(tmp_path):
    record = train.run(tiny(tmp_path))
    config, task = train.resolve(tiny(tmp_path))
    stack, cfg = train.load_run(records.run_directory(config))
    assert cfg.seed == 0
    scores = Scores()
    data = train.data_module(config, task)
    for batch in data.loader("fresh", 16, 8):
        scores.update(stack, batch)
    assert scores.accuracy == record["selection"]["fresh_accuracy"]
    with pytest.raises(ValueError, match="holds no finished run"):
        train.load_run(tmp_path)


def test_a_loss_that_is_not_finite_is_a_diverged_run_and_no_fit(tmp_path):
    record = train.run(tiny(tmp_path, "lr=1e30"))
    assert (record["status"], record["fit"], record["fit_selected"]) == ("diverged", False, False)
    assert record["accuracy"] == {"8": None, "16": None}
    assert all(math.isfinite(entry["loss"]) for entry in record["validation"] if entry["loss"] is not None)
    assert train.run(tiny(tmp_path, "lr=1e30")) == json.loads(json.dumps(record))


def test_fit_is_the_fresh_score_and_fit_selected_the_score_that_selected(tmp_path):
    record = train.run(tiny(tmp_path, "evaluation.bar=0.0"))
    assert record["fit"]
    assert record["fit_selected"]
    assert record["steps_to_fit"] == 2
    record = train.run(tiny(tmp_path, "evaluation.bar=1.1"))
    assert not record["fit"]
    assert not record["fit_selected"]
    assert record["steps_to_fit"] is None


def test_training_leaves_the_models_random_numbers_alone(tmp_path):
    """Batches come from streams of their own, so that the state of torch's generator is the seed's after as before."""
    config, task = train.resolve(tiny(tmp_path))
    L.seed_everything(0, verbose=False)
    train.build_stack(config)
    before = torch.get_rng_state()
    data = train.data_module(config, task)
    for loader in (data.train_dataloader(), data.val_dataloader(), *data.test_dataloader()):
        assert sum(1 for _ in loader)
    assert torch.equal(torch.get_rng_state(), before)
