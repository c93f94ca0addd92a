"""10,000 runs are reported in under 10 seconds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.synthetic import config, outcome, started, write

PROJECT = Path(__file__).resolve().parents[2]
SECONDS = 10
TASKS, LENGTHS, MIXERS, SEEDS = ("parity", "s3", "s3_hier", "s5"), (32, 64, 96, 128), ("givens", "delta", "log", "signed"), 160


@pytest.mark.slow
def test_ten_thousand_runs_are_reported_in_under_ten_seconds(tmp_path):
    fits = random.Random(0)
    for task in TASKS:
        for length in LENGTHS:
            for mixer in MIXERS:
                rate = fits.random()
                for seed in range(SEEDS):
                    chosen = config(mixer, task, seed, length=length)
                    curve = [{"step": step, "accuracy": fits.random(), "loss": 0.1} for step in range(100, 1700, 100)]
                    positions = [fits.random() for _ in range(256)]
                    ending = outcome(chosen, fits.random() < rate, validation=curve, position_accuracy=positions)
                    write(tmp_path, started(chosen), ending)
    before = os.times()
    command = [sys.executable, "scripts/report.py", "--outputs", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    after = os.times()
    assert done.returncode == 0, done.stderr
    assert "10,240 runs of 64 cells" in done.stdout
    # processor time, so that what else the machine does is not counted
    assert after.children_user + after.children_system - before.children_user - before.children_system < SECONDS
