"""Sweeps of train.py as a user starts them, timed by the files that they leave."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.benchmarks.remote import ENVIRONMENT, PROJECT, UNSET, WorkError


@dataclass(frozen=True)
class Sweep:
    runs: int
    steps: int
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Took:
    """Seconds of the whole command, and the moments at which runs started and at which their results were there."""

    command: float
    started: list[float]
    results: list[float]

    @property
    def span(self) -> float:
        """From the first start to the last result."""
        return self.results[-1] - self.started[0]

    def between_results(self) -> list[float]:
        """With one worker: what each run but the first took, from the end of the one before."""
        return [later - sooner for sooner, later in itertools.pairwise(self.results)]


def swept(sweep: Sweep, workers: int, threads: int) -> Took:
    """WorkError where not every run has a result."""
    environment = {name: value for name, value in os.environ.items() if name not in UNSET} | ENVIRONMENT
    with tempfile.TemporaryDirectory(prefix="bench-sweep-") as folder:
        words = (f"seed=0-{sweep.runs - 1}", f"steps={sweep.steps}", f"threads={threads}", f"hydra.launcher.workers={workers}")
        command = [sys.executable, "train.py", "-m", *sweep.overrides, *words, "device=cpu", f"outputs={folder}"]
        began = time.perf_counter()
        done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
        seconds = time.perf_counter() - began
        started, results = (moments(Path(folder), f"{record}.json") for record in ("started", "result"))
    if done.returncode or len(results) != sweep.runs:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
        raise WorkError(f"a sweep ended with {len(results)} of {sweep.runs} results: {last[0]}")
    return Took(seconds, started, results)


def moments(outputs: Path, name: str) -> list[float]:
    return sorted(file.stat().st_mtime for file in outputs.glob(f"*/*/s*/{name}"))
