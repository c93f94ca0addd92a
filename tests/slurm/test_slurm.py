"""A real Slurm of one node, started by the tests (Debian, root)."""

import subprocess
from pathlib import Path

import pytest

from mingru.sweep import records
from tests.packages import install
from tests.sweep.command import FAULTY, finish, results, start, summary, sweep, trouble, wait_for

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(900)]
SLURM = ("hydra/launcher=submitit_slurm", "hydra.launcher.mem_gb=1", "-m")


@pytest.fixture(scope="module", autouse=True)
def slurm():
    install("submitit", "hydra-submitit-launcher>=1.2")
    subprocess.run([Path(__file__).with_name("install_slurm.sh")], check=True, timeout=300)


def queue():
    """The jobs in the queue: `[id, state]` of each."""
    listed = subprocess.run(["squeue", "-h", "-r", "-o", "%i %T"], capture_output=True, text=True, check=True).stdout
    return [line.split() for line in listed.splitlines()]


def test_one_failing_and_one_killed_run_of_twelve_cost_themselves(tmp_path):
    code, output = sweep(tmp_path, *FAULTY, *SLURM, "seed=0-11", harm={2: "raise", 5: "SIGKILL"})
    assert code == 1
    assert summary(output) == "12 runs: 10 finished, 0 diverged, 1 failed, 1 missing"
    named = trouble(output)
    assert named[2] == ("failed", "RuntimeError: boom")
    assert named[5][0] == "missing"
    assert "FAILED" in named[5][1]
    code, output = sweep(tmp_path, *FAULTY, *SLURM, "seed=0-11", "rerun=failed")
    assert (code, summary(output)) == (0, "12 runs: 12 finished, 0 diverged, 0 failed, 0 missing")


@pytest.mark.parametrize("way", [["scancel", "--signal=USR2"], ["scontrol", "requeue"]], ids=" ".join)
def test_a_preempted_job_goes_on_from_its_checkpoint(tmp_path, way):
    words = (*FAULTY, "-m", "seed=0", "steps=600", "evaluation.every=100")
    slow = {0: "sleep 0.02"}
    process = start(tmp_path / "slurm", *words, *SLURM[:-1], harm=slow)
    wait_for(lambda: next((tmp_path / "slurm").rglob("checkpoint.ckpt"), None) is not None)
    ((job, state),) = queue()
    assert state == "RUNNING"
    subprocess.run([*way, job], check=True)
    code, output = finish(process)
    assert (code, summary(output)) == (0, "1 run: 1 finished, 0 diverged, 0 failed, 0 missing")
    log = next((tmp_path / "slurm").rglob("train.log")).read_text()
    assert "goes on from its checkpoint" in log
    assert sweep(tmp_path / "here", *words, "hydra/launcher=basic")[0] == 0
    assert results(tmp_path / "slurm") == results(tmp_path / "here")
    assert not list((tmp_path / "slurm").rglob(records.FAILURE))
