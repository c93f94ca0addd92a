"""A real Ray on this machine."""

import pytest

from tests.packages import install
from tests.sweep.command import FAULTY, summary, sweep, trouble

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]
RAY = ("hydra/launcher=ray", "hydra.launcher.ray.init.num_cpus=2", "-m", "seed=0-11")


@pytest.fixture(scope="module", autouse=True)
def ray():
    install("ray", "hydra-ray-launcher>=1.2.2")


def test_one_failing_and_one_killed_run_of_twelve_cost_themselves(tmp_path):
    code, output = sweep(tmp_path, *FAULTY, *RAY, harm={2: "raise", 5: "SIGKILL"})
    assert code == 1
    assert summary(output) == "12 runs: 10 finished, 0 diverged, 1 failed, 1 missing"
    named = trouble(output)
    assert named[2] == ("failed", "RuntimeError: boom")
    assert named[5][0] == "missing"
    assert "WorkerCrashedError" in named[5][1]
    # Ray tried the killed run once: there is one start and no continuation in its log.
    killed = next(tmp_path.rglob("s5"))
    assert "goes on from its checkpoint" not in (killed / "train.log").read_text()
    code, output = sweep(tmp_path, *FAULTY, *RAY, "rerun=failed")
    assert (code, summary(output)) == (0, "12 runs: 12 finished, 0 diverged, 0 failed, 0 missing")
