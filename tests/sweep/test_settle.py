import json
import signal
import subprocess
import sys
import threading
import time

import pytest

import train
from mingru.settings import PROJECT
from mingru.sweep import records
from mingru.sweep.settle import FailedBefore
from tests.composed import tiny, without_clock
from tests.sweep.command import FAULTY
from tests.sweep.faults import VARIABLE


def harm(monkeypatch, fault):
    monkeypatch.setenv(VARIABLE, json.dumps({"0": fault}))


def directory_of(cfg):
    return records.run_directory(train.resolve(cfg)[0])


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("raise", RuntimeError, "RuntimeError: boom"),
        ("memory", MemoryError, "MemoryError: no room for 9 EiB"),
        ("disk", OSError, "OSError: [Errno 28] No space left on device"),
        ("exit", RuntimeError, "RuntimeError: the run called exit(3)"),
    ],
)
def test_a_run_that_raises_leaves_a_failure_and_its_traceback(monkeypatch, tmp_path, fault, error, said):
    cfg = tiny(tmp_path, *FAULTY)
    harm(monkeypatch, fault)
    with pytest.raises(error):
        train.run(cfg)
    directory = directory_of(cfg)
    failure = records.read_json(directory / records.FAILURE)
    assert failure["error"] == said
    assert "Traceback" in failure["traceback"]
    assert "Traceback" in (directory / "train.log").read_text()
    assert not (directory / records.RESULT).exists()
    with pytest.raises(FailedBefore, match="rerun=failed tries again"):
        train.run(cfg)


def test_rerun_failed_redoes_a_failed_run_and_keeps_the_old(monkeypatch, tmp_path):
    cfg = tiny(tmp_path, *FAULTY)
    harm(monkeypatch, "raise")
    with pytest.raises(RuntimeError):
        train.run(cfg)
    harm(monkeypatch, "")
    again = train.run(tiny(tmp_path, *FAULTY, "rerun=failed"))
    assert again["attempt"] == 2
    assert records.read_json(directory_of(cfg).with_name("s0-a1") / records.FAILURE)["attempt"] == 1
    assert train.run(tiny(tmp_path, *FAULTY, "rerun=failed")) == again


def test_rerun_all_starts_anew_and_keeps_the_old(tmp_path):
    first = train.run(tiny(tmp_path))
    second = train.run(tiny(tmp_path, "rerun=all"))
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert first["validation"] == second["validation"]
    assert records.read_json(directory_of(tiny(tmp_path)).with_name("s0-a1") / records.RESULT) == first


def test_a_run_of_other_code_is_kept_until_rerun_stale(monkeypatch, tmp_path, caplog):
    first = train.run(tiny(tmp_path))
    file = directory_of(tiny(tmp_path)) / records.RESULT
    records.write_json(file, first | {"code": "0" * 12})
    assert train.run(tiny(tmp_path))["code"] == "0" * 12
    assert "rerun=stale redoes it" in caplog.text
    assert train.run(tiny(tmp_path, "rerun=stale"))["attempt"] == 2
    assert train.run(tiny(tmp_path, "rerun=stale"))["attempt"] == 2


@pytest.mark.parametrize("kept_bytes", [0, 1000, -1])
def test_a_checkpoint_that_was_cut_short_is_skipped_with_a_warning(monkeypatch, tmp_path, kept_bytes):
    straight = train.run(tiny(tmp_path / "straight"))
    cfg = tiny(tmp_path / "cut", *FAULTY)
    straight = train.run(tiny(tmp_path / "straight", *FAULTY))
    harm(monkeypatch, "SIGTERM")
    with pytest.raises(SystemExit):
        train.run(cfg)
    harm(monkeypatch, "")
    checkpoint = directory_of(cfg) / "checkpoint.ckpt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:kept_bytes])
    again = train.run(cfg)
    assert without_clock(again) == without_clock(straight)
    assert "cannot be read" in (directory_of(cfg) / "train.log").read_text()


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path):
    cfg = tiny(tmp_path)
    cell = directory_of(cfg).parent
    cell.parent.mkdir(parents=True)
    cell.write_text("in the way")
    with pytest.raises(OSError, match=str(cell.name)):
        train.run(cfg)


def test_a_record_that_cannot_be_written_leaves_the_error_that_came_first(monkeypatch, tmp_path, caplog):
    cfg = tiny(tmp_path, *FAULTY)
    harm(monkeypatch, "raise")
    write = records.write_json

    def write_no_failure(file, record):
        if file.name == records.FAILURE:
            raise OSError(28, "No space left on device")
        write(file, record)

    monkeypatch.setattr(records, "write_json", write_no_failure)
    with pytest.raises(RuntimeError, match="boom"):
        train.run(cfg)
    assert "failure.json could not be written" in caplog.text


HOLDER = """
import sys, time
from pathlib import Path
from mingru.sweep import records
with records.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(directory):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(directory)], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


def test_the_lock_of_a_dead_process_holds_nobody_up(tmp_path):
    process = hold(tmp_path / "s0")
    assert records.is_locked(tmp_path / "s0")
    process.kill()
    process.wait()
    assert not records.is_locked(tmp_path / "s0")
    with records.lock(tmp_path / "s0") as waited:
        assert not waited


def test_what_another_process_is_at_is_waited_for_and_not_done_again(tmp_path):
    done = train.run(tiny(tmp_path))
    directory = directory_of(tiny(tmp_path))
    process = hold(directory)
    threading.Timer(2, process.kill).start()
    began = time.monotonic()
    assert train.run(tiny(tmp_path, "rerun=all")) == done
    assert time.monotonic() - began > 1
    process.wait()
    assert process.returncode == -signal.SIGKILL
