"""The other end of worker.py: a process that is asked for times, and what it holds."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
# Their settings would override the number of threads that a row states, or leave a pool of compilers around.
UNSET = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
ENVIRONMENT = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "WANDB_MODE": "offline", "WANDB_SILENT": "true"}


class WorkError(Exception):
    """A workload that could not be built or run, in one line."""


class Worker:
    """A Python process whose imports come from `paths` first, then from this project."""

    def __init__(self, paths: Sequence[Path] = (), environment: Mapping[str, str] = ENVIRONMENT) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in UNSET}
        path = os.pathsep.join(map(str, (*paths, PROJECT)))
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 (closed in close)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "scripts.benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**inherited, **environment, "PYTHONPATH": path},
        )

    def ask(self, do: str, **request: Any) -> Any:
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise WorkError(f"the process ended with code {self._process.wait()}{self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return f": {lines[-1]}" if lines else ""


@dataclass(frozen=True)
class Held:
    """A workload in a worker, as a side of a pair."""

    worker: Worker
    name: str
    threads: int

    def seconds(self, iterations: int, warm: int) -> float:
        return self.worker.ask("time", name=self.name, threads=self.threads, iterations=iterations, warm=warm)
