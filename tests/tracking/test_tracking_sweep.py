"""A sweep whose connection is cut three times: all of it is in W&B after syncing twice."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from mingru.report.runs import compare, local, wandb_api
from mingru.settings import PROJECT as ROOT
from mingru.sweep import records
from tests.sweep import command
from tests.tracking.runs import PROJECT

pytestmark = pytest.mark.wandb
LOGGED = ("logger=wandb", "logger.init_seconds=5", "logger.finish_seconds=5", "logger.retry_seconds=2")
CUTS, CUT_SECONDS = 3, 2


def results(outputs) -> int:
    return len(list(outputs.glob(f"*/*/*/{records.RESULT}")))


def sweep_through_cuts(service, outputs, runs: int, *words: str, harm: dict[int, str] | None = None) -> tuple[int, str]:
    """Sweep seeds 0 to `runs` - 1 while the connection is cut whenever another quarter of the runs is done; exit code and output."""
    process = command.start(outputs, *words, "-m", f"seed=0-{runs - 1}", *LOGGED, harm=harm)
    cuts = 0
    while process.poll() is None:
        if cuts < CUTS and results(outputs) >= runs * (cuts + 1) // (CUTS + 1):
            service.cut, cuts = True, cuts + 1
            time.sleep(CUT_SECONDS)
            service.cut = False
        time.sleep(0.02)
    assert cuts == CUTS
    return process.returncode, process.communicate()[0]


def sync(outputs) -> str:
    done = subprocess.run(
        [sys.executable, "scripts/sync.py", "--outputs", str(outputs)], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("runs", "harm", "with_result"),
    [
        (24, {5: "raise", 17: "SIGKILL"}, 22),
        # A run that diverges has a result and is not finished: 180 are.
        pytest.param(200, command.HARM, 184, marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_a_sweep_through_three_cuts_is_whole_after_two_syncs(service, tmp_path, runs, harm, with_result):
    code, output = sweep_through_cuts(service, tmp_path, runs, *command.FAULTY, harm=harm)
    assert (code, results(tmp_path)) == (1, with_result), output
    assert sync(tmp_path).endswith(" 0 not uploaded\n")
    assert sync(tmp_path).endswith(f" 0 runs uploaded, {runs} were there, 0 not uploaded\n")
    there = {run["config"]["seed"]: run for run in service.projects[PROJECT]}
    assert len(service.projects[PROJECT]) == len({run["id"] for run in there.values()}) == runs
    assert sorted(there) == [*range(runs)]
    assert {seed for seed, run in there.items() if run["summary"].get("status") == "finished"} == {*range(runs)} - {*harm}
    # Diverging is an outcome, not an accident.
    accidents = {seed for seed, fault in harm.items() if fault != "nan"}
    assert {seed for seed, run in there.items() if run["state"] == "failed"} == accidents
    assert {seed for seed, run in there.items() if run["state"] == "finished"} == {*range(runs)} - accidents
    assert compare.differences(wandb_api.read(PROJECT), local.read(tmp_path)) == []
    for seed, run in there.items():
        steps = [run["history"][line]["_step"] for line in sorted(run["history"])]
        assert steps == sorted(set(steps))
        assert seed in harm or steps == [1, 2, 4, 6, 8, 10]
