"""Sweeps as a user starts them, small enough for a test."""

import json
import os
import subprocess
import sys
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
FAULTY = ("stack=[{mixer: faulty, _target_: tests.sweep.faults.Faulty}]",)


def start(outputs: Path, *words: str, harm: dict[int, str] | None = None, **options: Any) -> subprocess.Popen:
    """`train.py` in a process group of its own, its output in one pipe. `harm` says what befalls which seed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", faults.VARIABLE: json.dumps(harm or {})}
    return subprocess.Popen(
        [sys.executable, "train.py", *SMALL, f"outputs={outputs}", *words],
        cwd=PROJECT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, **options,
    )  # fmt: skip


def sweep(outputs: Path, *words: str, harm: dict[int, str] | None = None) -> tuple[int, str]:
    """The exit code and the output of a whole command."""
    process = start(outputs, *words, harm=harm)
    output, _ = process.communicate()
    return process.returncode, output


def results(outputs: Path) -> dict[str, dict[str, Any]]:
    """What the runs below `outputs` found, by their folder's path, without what a clock says."""
    files = {file.parent: records.read_json(file) for file in outputs.rglob(records.RESULT)}
    return {folder.relative_to(outputs).as_posix(): without_clock(record) for folder, record in files.items()}
