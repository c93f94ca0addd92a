"""Sweeps as a user starts them, small enough for a test."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mingru.settings import PROJECT
from mingru.sweep import records
from tests.composed import without_clock
from tests.sweep import faults

SMALL = (
    "task=s3", "length=8", "steps=10", "batch_size=4", "d_model=8", "evaluation.every=2", "evaluation.sequences=8",
    "evaluation.select_sequences=8", "evaluation.lengths=[8]", "logger=none", "device=cpu",
)  # fmt: skip
# Seconds for a command: a machine that is busy with other things is slow, not wrong.
PATIENCE = 400
FAULTY = ("stack=[{mixer: faulty, _target_: tests.sweep.faults.Faulty}]",)
# Twenty faults of five kinds, by seed, for a sweep of 200 runs; a full disk and a full memory are of one kind.
HARM = {
    11: "raise", 23: "raise", 77: "raise", 199: "raise",
    0: "nan", 50: "nan", 51: "nan", 120: "nan",
    3: "SIGKILL", 4: "SIGKILL", 100: "SIGKILL", 180: "SIGKILL",
    8: "SIGTERM", 64: "SIGTERM", 65: "SIGTERM", 150: "SIGTERM",
    30: "disk", 31: "disk", 140: "memory", 190: "memory",
}  # fmt: skip


def start(outputs: Path, *words: str, harm: dict[int, str] | None = None, **options: Any) -> subprocess.Popen:
    """`train.py` in a process group of its own, its output in one pipe. `harm` says what befalls which seed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", faults.VARIABLE: json.dumps(harm or {})}
    return subprocess.Popen(
        [sys.executable, "train.py", *SMALL, f"outputs={outputs}", *words],
        cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **options,
    )  # fmt: skip


def sweep(outputs: Path, *words: str, harm: dict[int, str] | None = None) -> tuple[int, str]:
    """The exit code and the output of a whole command."""
    return finish(start(outputs, *words, harm=harm))


def finish(process: subprocess.Popen) -> tuple[int, str]:
    """The exit code and the output of a command, which doesn't outlive the test that waits for it."""
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except BaseException:
        process.kill()
        raise
    return process.returncode, output


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def summary(output: str) -> str:
    """The last line of a sweep's table, which what workers print may follow."""
    return re.findall(r"^\d+ runs?: .*", output, re.MULTILINE)[-1]


def trouble(output: str) -> dict[int, tuple[str, str]]:
    """The runs that a sweep's table names, by their seed: how they ended and what was said."""
    named = {}
    for line in output[output.rindex("cell  ") :].splitlines():
        status, _, rest = line.partition("  ")
        if status in ("failed", "diverged", "missing") and "seed " in rest:
            seed, _, said = rest.rpartition("seed ")[2].partition(": ")
            named[int(seed)] = (status, said)
    return named


def results(outputs: Path) -> dict[str, dict[str, Any]]:
    """What the runs below `outputs` found, by their folder's path, without what a clock says."""
    files = {file.parent: records.read_json(file) for file in outputs.rglob(records.RESULT)}
    return {folder.relative_to(outputs).as_posix(): without_clock(record) for folder, record in files.items()}
