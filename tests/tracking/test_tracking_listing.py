"""The report's runs from the service: all of them or an error that says how far it came, never the sampled history."""

from __future__ import annotations

import time

import pytest

from mingru.report.runs import wandb_api
from mingru.report.runs.record import RunsError
from mingru.tracking import server
from tests.tracking.runs import PROJECT

pytestmark = pytest.mark.wandb
RUNS, PER_PAGE = 45, 10


@pytest.fixture
def project(service, monkeypatch):
    """45 runs in five pages."""
    monkeypatch.setattr(server, "PER_PAGE", PER_PAGE)
    service.projects[PROJECT] = [
        {"id": f"r{seed}", "config": {"task": "s3", "seed": seed}, "summary": {"status": "finished", "fit": 1}} for seed in range(RUNS)
    ]
    return service


def seeds():
    return [run.values["seed"] for run in wandb_api.read(PROJECT).runs]


def test_every_page_is_read_once_with_config_and_summary(project):
    assert seeds() == list(range(RUNS))
    assert project.seen.count("runs") == 5
    assert set(project.seen) == {"viewer", "runs"}


@pytest.mark.parametrize("how", [429, 500, 503, "drop"])
def test_a_fault_that_passes_is_waited_for(project, how):
    project.fail("runs", how, after=2)
    assert seeds() == list(range(RUNS))


def test_a_service_that_hangs_is_asked_again(project, monkeypatch, caplog):
    monkeypatch.setattr(server, "TIMEOUT_SECONDS", 2)
    project.fail("runs", "hang", after=1)
    assert seeds() == list(range(RUNS))
    assert "asking again" in caplog.text


def test_a_service_that_is_gone_is_given_up_and_said_how_far_it_was_read(project, monkeypatch):
    monkeypatch.setattr(server, "TIMEOUT_SECONDS", 1)
    monkeypatch.setattr(server, "PATIENCE_SECONDS", 2)
    project.fail("runs", "drop", times=1000, after=2)
    with pytest.raises(RunsError, match=f"20 of {RUNS} runs were read, then: no answer within 2 s"):
        wandb_api.read(PROJECT)


@pytest.mark.parametrize(("call", "how"), [("runs", 403), ("viewer", 401)])
def test_a_refusal_is_said_at_once(project, call, how):
    project.fail(call, how, times=1000)
    began = time.monotonic()
    with pytest.raises(RunsError, match=f"W&B {PROJECT}: .*fault {how}"):
        wandb_api.read(PROJECT)
    assert time.monotonic() - began < 10


def test_a_run_that_two_pages_show_counts_once(project):
    project.projects[PROJECT].insert(PER_PAGE, project.projects[PROJECT][PER_PAGE - 1])
    assert seeds() == list(range(RUNS))


def test_runs_of_others_are_left_out_and_counted(project):
    project.projects[PROJECT] += [{"id": f"x{i}", "config": {"lr": i}, "summary": {}} for i in range(2)]
    source = wandb_api.read(PROJECT)
    assert len(source.runs) == RUNS
    assert source.notes == [f"W&B {PROJECT}: 2 runs not made by train.py left out"]
