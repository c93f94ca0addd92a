"""Whole sweeps through the command line, with harm done to them."""

import os
import random
import signal
import subprocess
import time

import pytest

from mingru.sweep import records
from mingru.sweep.logfile import LOG
from tests.packages import install
from tests.sweep.command import FAULTY, HARM, PATIENCE, finish, results, start, summary, sweep, trouble, wait_for
from tests.sweep.faults import UNDER_WAY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def count(outputs, name):
    return len(list(outputs.rglob(name)))


def test_a_sweep_that_is_killed_five_times_ends_as_one_that_never_was(tmp_path):
    """Two of the kills strike while a checkpoint is being written, one takes the workers along."""
    words = (*FAULTY, "-m", "seed=0-23", "steps=60")
    assert sweep(tmp_path / "straight", *words)[0] == 0
    cut, dice = tmp_path / "cut", random.Random(4)
    for kill in range(5):
        done = count(cut, records.RESULT)
        process = start(cut, *words)
        if kill % 2:
            wait_for(lambda: next(cut.rglob(".checkpoint.ckpt.part"), None) is not None)
        else:
            wait_for(lambda done=done: count(cut, records.RESULT) >= done + 2)
            time.sleep(dice.uniform(0, 0.5))
        if kill == 4:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        finish(process)
    assert count(cut, records.RESULT) < 24
    code, output = sweep(cut, *words)
    assert code == 0
    assert summary(output) == "24 runs: 24 finished, 0 diverged, 0 failed, 0 missing"
    assert len(results(cut)) == 24
    assert results(cut) == results(tmp_path / "straight")
    assert not list(cut.rglob(".*.part"))
    assert not list(cut.rglob("*-a1"))


ENDS = {
    "raise": ("failed", "RuntimeError: boom"),
    "nan": ("diverged", ""),
    "SIGKILL": ("missing", "killed by SIGKILL (out of memory?)"),
    "SIGTERM": ("missing", "stopped by SIGTERM"),
    "disk": ("failed", "OSError: [Errno 28] No space left on device"),
    "memory": ("failed", "MemoryError: no room for 9 EiB"),
}


def test_twenty_faults_of_five_kinds_in_two_hundred_runs_cost_twenty_runs(tmp_path):
    words = (*FAULTY, "-m", "seed=0-199", "evaluation.every=10")
    code, output = sweep(tmp_path, *words, harm=HARM)
    assert code == 1
    assert summary(output) == "200 runs: 180 finished, 4 diverged, 8 failed, 8 missing"
    assert trouble(output) == {seed: ENDS[fault] for seed, fault in HARM.items()}
    for seed in HARM:
        assert f"/s{seed}/train.log" in output[output.rindex("cell  ") :]
    assert count(tmp_path, records.RESULT) == 184
    assert count(tmp_path, records.FAILURE) == 8
    # The fault is gone: the killed runs go on, the failed are left alone until rerun=failed.
    code, output = sweep(tmp_path, *words)
    assert (code, summary(output)) == (1, "200 runs: 188 finished, 4 diverged, 8 failed, 0 missing")
    code, output = sweep(tmp_path, *words, "rerun=failed")
    assert (code, summary(output)) == (0, "200 runs: 196 finished, 4 diverged, 0 failed, 0 missing")
    assert count(tmp_path, "s*-a1") == 8


def test_two_sweeps_at_once_share_the_runs(tmp_path):
    words, harm = (*FAULTY, "-m", "steps=100"), dict.fromkeys(range(12), "sleep 0.01")
    both = [start(tmp_path, *words, f"seed={seeds}", harm=harm) for seeds in ("0-7", "4-11")]
    ends = [finish(process) for process in both]
    assert [code for code, _ in ends] == [0, 0]
    assert all(summary(output).startswith("8 runs: 8 finished") for _, output in ends)
    assert len(results(tmp_path)) == 12
    assert not list(tmp_path.rglob("*-a1"))
    for log in tmp_path.rglob("train.log"):
        assert log.read_text().count("chosen at step") == 1


@pytest.mark.parametrize(("launcher", "number"), [("local", signal.SIGINT), ("local", signal.SIGTERM), ("basic", signal.SIGINT)])
def test_a_sweep_that_is_told_to_stop_makes_checkpoints_and_goes_on_later(tmp_path, launcher, number):
    words = (*FAULTY, "-m", "seed=0-3", "steps=400", "evaluation.every=1000", f"hydra/launcher={launcher}")
    process = start(tmp_path, *words, harm=dict.fromkeys(range(4), "sleep 0.03"))
    wait_for(lambda: any(UNDER_WAY in log.read_text() for log in tmp_path.rglob(LOG)))
    os.killpg(process.pid, number)
    code, output = finish(process)
    assert code == 128 + number
    assert ("stopped with the sweep" in output) == (launcher == "local")
    assert "not started" in output
    assert count(tmp_path, "checkpoint.ckpt") > 0
    assert count(tmp_path, records.FAILURE) == 0
    code, output = sweep(tmp_path, *words)
    assert (code, summary(output)) == (0, "4 runs: 4 finished, 0 diverged, 0 failed, 0 missing")
    assert not list(tmp_path.rglob("*-a1"))


@pytest.mark.parametrize("launcher", ["local", "basic"])
def test_fail_fast_starts_nothing_after_the_first_failure(tmp_path, launcher):
    words = (*FAULTY, "-m", "seed=0-9", f"hydra/launcher={launcher}")
    one_by_one = ("hydra.launcher.workers=1",) if launcher == "local" else ()
    code, output = sweep(tmp_path, *words, *one_by_one, "fail_fast=true", harm={2: "raise"})
    assert code == 1
    assert "missing   7 that were not started" in output
    assert summary(output) == "10 runs: 2 finished, 0 diverged, 1 failed, 7 missing"
    code, output = sweep(tmp_path, *words, "rerun=failed")
    assert (code, summary(output)) == (0, "10 runs: 10 finished, 0 diverged, 0 failed, 0 missing")


@pytest.mark.parametrize("launcher", ["local", "basic"])
def test_a_sweep_stops_when_significant_and_again_comes_to_the_same_decision(tmp_path, launcher):
    """Every run of one mixer fits, at a bar of 0, and every run of the other diverges: four pairs of seeds are enough."""
    words = ("-m", f"stack=[signed],{FAULTY[0].removeprefix('stack=')}", "evaluation.bar=0.0", "seed=0-11", "stop=significant")
    options = {"harm": dict.fromkeys(range(12), "nan")}
    code, output = sweep(tmp_path, *words, f"hydra/launcher={launcher}", **options)
    assert code == 0
    results_then = count(tmp_path, records.RESULT)
    # The local launcher has started a seed or two by the time it knows.
    assert 8 <= results_then <= 8 + (len(os.sched_getaffinity(0)) if launcher == "local" else 0)
    assert count(tmp_path, records.STARTED) == results_then
    assert "not run   s3 signed L8 seeds" in output
    assert "significant against s3 faulty L8: evidence" in output
    code, output = sweep(tmp_path, *words, **options)
    assert (code, count(tmp_path, records.RESULT)) == (0, results_then)
    assert "not run   s3 signed L8 seeds" in output
    code, output = sweep(tmp_path, *words[:-1], **options)
    assert (code, summary(output)) == (0, "24 runs: 12 finished, 12 diverged, 0 failed, 0 missing")


def test_one_process_gives_the_same_table_and_the_same_numbers(tmp_path):
    """The two runs that fail are listed as they ended, and two workers may end the later one first: lines are compared, not their order."""
    tables = []
    for launcher in ("local", "basic"):
        outputs = tmp_path / launcher
        code, output = sweep(outputs, *FAULTY, "-m", "seed=0-4", f"hydra/launcher={launcher}", harm={1: "raise", 3: "exit"})
        assert code == 1
        tables.append(sorted(output[output.index("cell  ") :].replace(str(outputs), "").splitlines()))
    assert tables[0] == tables[1]
    assert results(tmp_path / "local") == results(tmp_path / "basic")


def test_adding_seeds_runs_the_new_ones_and_a_changed_setting_is_a_new_cell(tmp_path):
    assert sweep(tmp_path, "mixer=signed", "-m", "seed=0,1")[0] == 0
    first = {file: file.stat().st_mtime_ns for file in tmp_path.rglob(records.RESULT)}
    _, output = sweep(tmp_path, "mixer=signed", "-m", "seed=0-3")
    assert "4 runs in 1 cell, 2 of them done before" in output
    assert {file: file.stat().st_mtime_ns for file in first} == first
    assert len(results(tmp_path)) == 4
    _, output = sweep(tmp_path, "mixer=signed", "-m", "seed=0,1", "lr=0.001")
    assert "done before" not in output
    assert len(results(tmp_path)) == 6


def test_a_sweep_without_anything_to_do_starts_no_worker(tmp_path):
    words = ("mixer=signed", "-m", "seed=0")
    sweep(tmp_path, *words)
    began = time.monotonic()
    code, output = sweep(tmp_path, *words)
    assert code == 0
    assert "at a time" not in output
    assert time.monotonic() - began < PATIENCE


def test_no_worker_outlives_a_sweep_that_is_killed(tmp_path):
    process = start(tmp_path, "mixer=signed", "-m", "seed=0-3", "steps=100000")
    wait_for(lambda: count(tmp_path, records.STARTED) == min(2, len(os.sched_getaffinity(0))))
    process.kill()
    process.wait()
    time.sleep(2)
    group = subprocess.run(["pgrep", "-g", str(process.pid)], capture_output=True, text=True)
    assert group.stdout == ""
    for started in tmp_path.rglob(records.STARTED):
        assert not records.is_locked(started.parent)


def test_joblib_loses_the_runs_at_work_with_a_dead_worker_and_no_others(tmp_path):
    install("hydra_plugins.hydra_joblib_launcher", "hydra-joblib-launcher>=1.2")
    words = (*FAULTY, "hydra/launcher=joblib", "-m", "seed=0-11")
    code, output = sweep(tmp_path, *words, harm={2: "raise", 5: "SIGKILL"})
    assert code == 1
    assert "JoblibLauncher gave up: TerminatedWorkerError" in output
    named = trouble(output)
    assert named[2] == ("failed", "RuntimeError: boom")
    assert named[5][0] == "missing"
    assert len(named) <= 3
    code, output = sweep(tmp_path, *words, "rerun=failed")
    assert (code, summary(output)) == (0, "12 runs: 12 finished, 0 diverged, 0 failed, 0 missing")
