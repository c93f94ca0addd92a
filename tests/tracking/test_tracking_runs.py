"""What lands in W&B: one run per (cell, seed, attempt), whole, whatever happened to it."""

from __future__ import annotations

import json

import pytest

import train
from mingru import training
from mingru.report import frame
from mingru.report.runs import compare, local, wandb_api, wandb_files
from mingru.sweep import interruption, records
from mingru.tracking.upload import upload
from tests.composed import tiny
from tests.sweep.command import FAULTY
from tests.sweep.faults import VARIABLE
from tests.test_training import StopAt
from tests.tracking.runs import PROJECT, curve, directory, run, sent

SIX = [(mixer, seed) for mixer in ("givens", "log") for seed in range(3)]
# A run whose end W&B has not taken in this time goes on without it; a busy machine needs more of it than a test of that does.
PATIENT = "logger.finish_seconds=120"


def try_six(outputs, monkeypatch):
    """Two mixers and three seeds in one process; the fourth run raises."""
    measure = train.measure

    def breaking(config, *rest):
        if (config["mixer"]["name"], config["seed"]) == ("log", 0):
            raise RuntimeError("boom")
        return measure(config, *rest)

    monkeypatch.setattr(train, "measure", breaking)
    for mixer, seed in SIX:
        if (mixer, seed) == ("log", 0):
            with pytest.raises(RuntimeError, match="boom"):
                run(outputs, f"mixer={mixer}", f"seed={seed}", PATIENT)
        else:
            run(outputs, f"mixer={mixer}", f"seed={seed}", PATIENT)


def test_six_runs_of_one_process_are_six_offline_runs(tmp_path, monkeypatch):
    try_six(tmp_path, monkeypatch)
    offline = wandb_files.read(tmp_path)
    assert sorted((run.values["mixer"], run.values["seed"]) for run in offline.runs) == SIX
    assert len({run.origin for run in offline.runs}) == 6
    assert sum(run.status == "failed" and run.failure == "RuntimeError: boom" for run in offline.runs) == 1
    assert compare.differences(offline, local.read(tmp_path)) == []


@pytest.mark.wandb
def test_six_runs_of_one_process_are_six_runs_of_the_service(service, tmp_path, monkeypatch):
    try_six(tmp_path, monkeypatch)
    runs = service.projects[PROJECT]
    assert sorted((run["config"]["mixer"], run["config"]["seed"]) for run in runs) == SIX
    assert len({run["id"] for run in runs}) == 6
    assert {run["group"] for run in runs} == {f"s3_hier-signed-{run['config']['mixer']}-L8-{run['config']['cell']}" for run in runs}
    assert len({run["group"] for run in runs}) == 2
    assert {(run["job_type"], run["name"][-4:]) for run in runs} == {("train", f"-s0{seed}") for seed in range(3)}
    assert [run["state"] for run in runs].count("failed") == 1
    assert compare.differences(wandb_api.read(PROJECT), local.read(tmp_path)) == []


@pytest.mark.wandb
def test_a_run_sends_its_curves_once_and_by_training_step(service, tmp_path):
    record = run(tmp_path, "steps=52", "evaluation.every=17")
    rows = curve(sent(service, record))
    assert [(row["_step"], "train/loss" in row, "validation/loss" in row) for row in rows] == [
        (1, True, False),
        (17, False, True),
        (34, False, True),
        (51, True, True),
        (52, False, True),
    ]
    assert [row["validation/accuracy"] for row in rows[1:]] == [entry["accuracy"] for entry in record["validation"]]
    assert sent(service, record)["summary"]["fit"] == 0
    assert sent(service, record)["tags"] == ["s3_hier", "givens"]


class AskAt(StopAt):
    """Asks the run to stop after `step`, as a first Ctrl-C does."""

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            interruption._State.asked = 2


@pytest.mark.wandb
@pytest.mark.parametrize("how", [AskAt(5, True), StopAt(5, False)], ids=["asked to stop", "cut"])
@pytest.mark.parametrize(
    "modes", [("online", "online"), ("offline", "online"), ("online", "offline"), ("offline", "offline")], ids=" then ".join
)
def test_a_run_that_goes_on_is_one_whole_run(service, tmp_path, monkeypatch, how, modes):
    straight = run(tmp_path / "straight")
    service.projects, expected = {}, curve(sent(service, straight))
    make = training.make_trainer
    with monkeypatch.context() as patch:
        patch.setattr(training, "make_trainer", lambda protocol, callbacks, *rest: make(protocol, [how, *callbacks], *rest))
        with pytest.raises((interruption.Interrupted, InterruptedError)):
            run(tmp_path, f"logger.mode={modes[0]}")
    (directory(tmp_path) / records.FAILURE).unlink(missing_ok=True)
    record = run(tmp_path, f"logger.mode={modes[1]}")
    upload(tmp_path)
    found = sent(service, record)
    assert found["state"] == "finished"
    assert curve(found) == expected
    assert found["summary"]["status"] == "finished"


@pytest.mark.wandb
def test_a_run_that_diverged_has_its_numbers_and_is_no_fit(service, tmp_path):
    record = run(tmp_path, "lr=1e30")
    found = sent(service, record)
    assert (found["state"], found["summary"]["status"], found["summary"]["fit"]) == ("finished", "diverged", 0)
    (read,) = wandb_api.read(PROJECT).runs
    assert read.status == "diverged"
    assert compare.differences(wandb_api.read(PROJECT), local.read(tmp_path)) == []


@pytest.mark.wandb
def test_metrics_that_are_not_numbers_are_read_as_unknown(service):
    summary = {"status": "finished", "fit": float("nan"), "accuracy": {"8": float("inf")}}
    service.projects[PROJECT] = [{"id": "a", "config": {"task": "s3", "seed": 0}, "summary": summary}]
    (read,) = wandb_api.read(PROJECT).runs
    table = frame.tabulate([read])
    assert not bool(table["fit"].iloc[0])
    assert len(table) == 1


@pytest.mark.wandb
def test_a_redone_attempt_is_marked_and_counts_once(service, tmp_path, monkeypatch):
    words = (*FAULTY, "steps=4")
    monkeypatch.setenv(VARIABLE, json.dumps({"0": "raise"}))
    with pytest.raises(RuntimeError, match="boom"):
        run(tmp_path, *words)
    monkeypatch.delenv(VARIABLE)
    run(tmp_path, *words, "rerun=failed")
    run(tmp_path, *words, "rerun=all")
    runs = sorted(service.projects[PROJECT], key=lambda run: run["config"]["attempt"])
    assert [(run["config"]["attempt"], run["state"]) for run in runs] == [(1, "failed"), (2, "finished"), (3, "finished")]
    assert ["superseded" in run["tags"] for run in runs] == [True, True, False]
    assert [run["summary"].get("superseded") for run in runs] == [1, 1, None]
    assert runs[0]["summary"]["failure"] == "RuntimeError: boom"
    table = frame.tabulate(wandb_api.read(PROJECT).runs)
    assert table["superseded"].tolist() == [True, True, False]


def test_w_and_b_that_is_off_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "disabled")
    run(tmp_path)
    train.run(tiny(tmp_path, "seed=1"))
    assert not list(tmp_path.rglob("*.wandb"))
