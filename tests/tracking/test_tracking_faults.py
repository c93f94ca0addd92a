"""Training goes on and nothing is lost, whenever the service cannot be reached."""

from __future__ import annotations

import time

import pytest

import train
from mingru.tracking import host
from mingru.tracking.upload import upload
from tests.tracking.runs import PROJECT, curve, run, sent, tracked
from tests.wandb_server import API_KEY

pytestmark = pytest.mark.wandb


def offline_folders(outputs):
    return list(outputs.glob("*/*/*/wandb/offline-run-*"))


@pytest.mark.parametrize("how", [401, 500, "drop", "hang"])
def test_a_service_that_takes_no_run_leaves_it_offline(service, tmp_path, caplog, how):
    service.fail("upsert", how, times=100)
    began = time.monotonic()
    assert run(tmp_path, "logger.init_seconds=2")["status"] == "finished"
    assert time.monotonic() - began < 15
    assert len(offline_folders(tmp_path)) == 1
    (said,) = (entry.getMessage() for entry in caplog.records if entry.name.startswith("mingru") and entry.levelname == "WARNING")
    assert "recorded offline" in said
    assert "\n" not in said
    service.faults.clear()
    assert upload(tmp_path).uploaded == 1
    assert service.projects[PROJECT][0]["state"] == "finished"


def test_one_run_finds_out_that_the_host_hangs_and_the_others_know(service, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "ANSWER_SECONDS", 1)
    service.fail("probe", "hang")
    for seed in range(5):
        tracked(tmp_path, seed)
    # Another worker of the sweep, which has nothing but the note.
    host.forget()
    tracked(tmp_path, 5)
    assert service.seen.count("probe") == 1
    assert len(offline_folders(tmp_path)) == 6
    tracked(tmp_path, 6, retry_seconds=0)
    assert len(offline_folders(tmp_path)) == 6
    assert len(service.projects[PROJECT]) == 1
    assert upload(tmp_path).uploaded == 6


def test_thirty_runs_without_a_network_cost_no_more_than_offline_ones(tmp_path, monkeypatch):
    for name, value in {"WANDB_MODE": "online", "WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": API_KEY}.items():
        monkeypatch.setenv(name, value)
    tracked(tmp_path, 100)
    began = time.monotonic()
    for seed in range(30):
        tracked(tmp_path, seed)
    assert len(offline_folders(tmp_path)) == 31
    # 0.04 s each on an idle machine
    assert (time.monotonic() - began) / 30 < 0.5


def cut_while_training(service, monkeypatch, back: bool):
    measure = train.measure

    def cut(*arguments):
        service.cut = True
        try:
            return measure(*arguments)
        finally:
            service.cut = not back

    monkeypatch.setattr(train, "measure", cut)


def test_a_connection_lost_and_found_while_training_loses_nothing(service, tmp_path, monkeypatch):
    straight = run(tmp_path / "straight")
    expected, service.projects = curve(sent(service, straight)), {}
    cut_while_training(service, monkeypatch, back=True)
    found = sent(service, run(tmp_path, "logger.finish_seconds=30"))
    assert found["state"] == "finished"
    assert curve(found) == expected


def test_a_connection_lost_for_good_ends_the_run_in_time_and_is_made_up_for_later(service, tmp_path, monkeypatch):
    cut_while_training(service, monkeypatch, back=False)
    began = time.monotonic()
    record = run(tmp_path, "logger.finish_seconds=3")
    assert record["status"] == "finished"
    assert time.monotonic() - began < 20
    assert sent(service, record)["state"] == "running"
    again = run(tmp_path, "seed=1")
    assert len(offline_folders(tmp_path)) == 1
    service.cut = False
    assert (upload(tmp_path).uploaded, upload(tmp_path).uploaded) == (2, 0)
    for each in (record, again):
        found = sent(service, each)
        assert (found["state"], found["summary"]["status"]) == ("finished", "finished")
        assert [row["_step"] for row in curve(found)] == [1, 2, 4, 6]


def test_a_service_that_hangs_at_the_end_does_not_hold_the_run(service, tmp_path):
    service.fail("stream", "hang", times=100)
    began = time.monotonic()
    record = run(tmp_path, "logger.finish_seconds=2")
    assert time.monotonic() - began < 15
    assert record["status"] == "finished"


def test_a_service_that_refuses_the_rows_is_found_out_by_the_upload(service, tmp_path):
    service.fail("stream", 404, times=100)
    record = run(tmp_path)
    assert sent(service, record)["state"] == "running"
    service.faults.clear()
    assert upload(tmp_path).uploaded == 1
    assert sent(service, record)["state"] == "finished"
