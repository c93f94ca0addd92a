"""scripts/sync.py: every run that W&B lacks arrives once, however often it is called and whatever W&B's own files hold."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mingru.report.runs import compare, local, wandb_api
from mingru.settings import PROJECT as ROOT
from mingru.sweep import records
from mingru.tracking.upload import upload
from tests.tracking.runs import PROJECT, curve, sent, tracked

pytestmark = pytest.mark.wandb


def sync(outputs, **environment):
    return subprocess.Popen(
        [sys.executable, "scripts/sync.py", "--outputs", str(outputs)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


def folder(outputs, seed, suffix=""):
    return next(outputs.glob(f"*/*/s{seed}{suffix}"))


def counts(outcome):
    return outcome.uploaded, outcome.present, outcome.running, len(outcome.problems)


def read_after_upload(outputs):
    assert counts(upload(outputs)) == (1, 0, 0, 0)
    return wandb_api.read(PROJECT).runs


def test_two_uploads_at_once_and_a_third_later_send_each_run_once(service, tmp_path):
    written = [tracked(tmp_path, seed, mode="offline") for seed in range(5)]
    answers = [ended(process) for process in (sync(tmp_path), sync(tmp_path))]
    assert [code for code, _, _ in answers] == [0, 0], answers
    said = " ".join(stdout for _, stdout, _ in answers)
    assert "5 runs uploaded, 0 were there, 0 not uploaded" in said
    assert "0 runs uploaded, 5 were there, 0 not uploaded" in said
    asked = len(service.seen)
    assert counts(upload(tmp_path)) == (0, 5, 0, 0)
    assert len(service.seen) == asked
    for record in written:
        assert [row["_step"] for row in curve(sent(service, record))] == list(range(1, 21))
        assert sent(service, record)["state"] == "finished"
    assert compare.differences(wandb_api.read(PROJECT), local.read(tmp_path)) == []


def test_what_another_tool_uploaded_is_recognised(service, tmp_path):
    tracked(tmp_path, 0, mode="offline")
    files = [str(file.parent) for file in tmp_path.rglob("offline-run-*/*.wandb")]
    command = [sys.executable, "-m", "wandb", "sync", *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert counts(upload(tmp_path)) == (0, 1, 0, 0)


@pytest.mark.parametrize("left", [None, b"", b":W&B\x18\x00\x00"], ids=["no file", "empty", "its header"])
def test_a_killed_run_is_uploaded_from_its_record_and_again_when_it_has_ended(service, tmp_path, left):
    tracked(tmp_path, 0, ends=False, mode="offline")
    for file in tmp_path.rglob("*.wandb"):
        file.unlink() if left is None else file.write_bytes(left)
    (run,) = read_after_upload(tmp_path)
    assert run.status == "missing"
    assert service.projects[PROJECT][0]["state"] == "failed"
    record = tracked(tmp_path, 0, mode="offline")
    (run,) = read_after_upload(tmp_path)
    assert run.status == "finished"
    assert [row["_step"] for row in curve(sent(service, record))] == list(range(1, 21))
    assert sent(service, record)["state"] == "finished"


def set_aside(outputs, seed):
    directory = folder(outputs, seed)
    directory.rename(directory.with_name(f"s{seed}-a1"))


def test_attempts_redone_offline_are_marked_whether_or_not_they_were_there(service, tmp_path):
    older = [tracked(tmp_path, 0, mode="offline")]
    upload(tmp_path)
    older.append(tracked(tmp_path, 1, mode="offline"))
    for seed in (0, 1):
        set_aside(tmp_path, seed)
    newer = [tracked(tmp_path, seed, attempt=2, mode="offline") for seed in (0, 1)]
    assert counts(upload(tmp_path)) == (4, 0, 0, 0)
    marks = [
        ("superseded" in found["tags"], found["summary"].get("superseded")) for found in (sent(service, each) for each in older + newer)
    ]
    assert marks == [(True, 1), (True, 1), (False, None), (False, None)]
    assert counts(upload(tmp_path)) == (0, 4, 0, 0)
    assert len(service.projects[PROJECT]) == 4


def test_a_run_that_is_training_is_left_alone(service, tmp_path):
    tracked(tmp_path, 0, ends=False, mode="offline")
    with records.lock(folder(tmp_path, 0)):
        assert counts(upload(tmp_path)) == (0, 0, 1, 0)
    assert PROJECT not in service.projects


def test_a_run_that_is_refused_is_named_and_holds_up_no_other(service, tmp_path):
    written = [tracked(tmp_path, seed, mode="offline") for seed in range(3)]
    service.fail("upsert", 403)
    outcome = upload(tmp_path)
    assert counts(outcome) == (2, 0, 0, 1)
    assert "fault 403" in outcome.problems[0]
    assert counts(upload(tmp_path)) == (1, 2, 0, 0)
    assert {sent(service, each)["state"] for each in written} == {"finished"}


def test_each_reason_not_to_upload_is_one_line(tmp_path):
    key = {"WANDB_API_KEY": "0" * 40, "WANDB_BASE_URL": "http://127.0.0.1:9"}
    tracked(tmp_path, 0, mode="offline")
    asked = {
        "there is no W&B key": sync(tmp_path, WANDB_API_KEY="", WANDB_BASE_URL=key["WANDB_BASE_URL"]),
        "no such folder": sync(tmp_path / "none", **key),
        "http://127.0.0.1:9 does not answer": sync(tmp_path, **key),
    }
    for reason, process in asked.items():
        code, stdout, stderr = ended(process)
        assert (code, stdout) == (1, "")
        assert stderr.startswith("sync.py: ")
        assert reason in stderr
        assert len(stderr.splitlines()) == 1
