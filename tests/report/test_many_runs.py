"""10,000 runs are reported, and the work grows with the runs and no faster."""

from __future__ import annotations

import cProfile
import pstats
import random
import subprocess
import sys
from pathlib import Path

import pytest

from mingru.report import assemble
from mingru.report.runs import local
from tests.report.synthetic import config, outcome, started, write

PROJECT = Path(__file__).resolve().parents[2]
TASKS, LENGTHS, MIXERS = ("parity", "s3", "s3_hier", "s5"), (32, 64, 96, 128), ("givens", "delta", "log", "signed")
# Function calls that a run may add; it adds about 570.
CALLS = 800

pytestmark = pytest.mark.slow


def many(outputs: Path, seeds: int) -> Path:
    """64 cells in 16 families, each of as many runs."""
    draws = random.Random(0)
    for task in TASKS:
        for length in LENGTHS:
            for mixer in MIXERS:
                rate = draws.random()
                for seed in range(seeds):
                    chosen = config(mixer, task, seed, length=length)
                    curve = [{"step": step, "accuracy": draws.random(), "loss": 0.1} for step in range(100, 1700, 100)]
                    positions = [draws.random() for _ in range(256)]
                    ending = outcome(chosen, draws.random() < rate, validation=curve, position_accuracy=positions)
                    write(outputs, started(chosen), ending)
    return outputs


def test_ten_thousand_runs_are_reported(tmp_path):
    command = [sys.executable, "scripts/report.py", "--outputs", str(many(tmp_path, 160))]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "10,240 runs of 64 cells" in done.stdout


def test_twice_the_runs_are_at_most_twice_the_work(tmp_path):
    """Counted in function calls, which no other load changes; `scripts/bench.py report` has the seconds."""
    calls(many(tmp_path / "warm", 2))
    few, some, more = (calls(many(tmp_path / str(seeds), seeds)) for seeds in (10, 20, 40))
    cells = len(TASKS) * len(LENGTHS) * len(MIXERS)
    first, second = (some - few) / (10 * cells), (more - some) / (20 * cells)
    assert second < 1.1 * first
    assert second < CALLS


def calls(outputs: Path) -> int:
    """Function calls from the folders to the written page."""
    profile = cProfile.Profile()
    request = assemble.Request(outputs / "report", outputs / "report" / "report.md", pictures=False)
    with profile:
        assemble.report(local.read(outputs), request)
    return pstats.Stats(profile).total_calls
