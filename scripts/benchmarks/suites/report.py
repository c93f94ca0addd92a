"""What a report of many runs costs beside reading their records."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.benchmarks.measures import Measure, medians
from scripts.benchmarks.pairs import interleaved
from scripts.benchmarks.remote import ENVIRONMENT, PROJECT, WorkError
from scripts.benchmarks.row import Reach, Row
from scripts.benchmarks.session import Session
from scripts.benchmarks.suites.shapes import Shapes

RUNS = 10_000
PUBLISHED = PROJECT / "docs" / "data" / "exactness.jsonl"
# Seeds of one copy of the published runs are below this.
SEEDS = 100_000
PARSE = "import json, pathlib, sys; [json.loads(file.read_bytes()) for file in pathlib.Path(sys.argv[1]).rglob('s*/*.json')]"


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    runs = shapes.count(RUNS)
    return [Reported(f"scripts/report.py on {runs:,} runs, from its start to its files / a Python that parses their records", runs)]


@dataclass(frozen=True)
class Reported:
    """The whole command, imports included, on copies of the published runs, each with a seed of its own."""

    measure: str
    runs: int
    reach: Reach | None = None

    def row(self, session: Session) -> Row:
        session.drop()
        with tempfile.TemporaryDirectory(prefix="bench-report-") as folder:
            write(copies(self.runs), Path(folder))
            report = Command([sys.executable, "scripts/report.py", "--no-pictures", "--outputs", folder])
            parse = Command([sys.executable, "-c", PARSE, folder])
            found = interleaved(report, parse, session.options.pairs, session.options.sample, session.done)
        return Row(self.measure, [over / under for over, under in found], "", medians(found), 1, self.reach)


@dataclass(frozen=True)
class Command:
    words: list[str]

    def seconds(self, iterations: int, warm: int) -> float:
        """WorkError where the command fails."""
        for _ in range(warm):
            self._once()
        began = time.perf_counter()
        for _ in range(iterations):
            self._once()
        return time.perf_counter() - began

    def _once(self) -> None:
        done = subprocess.run(self.words, cwd=PROJECT, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
            raise WorkError(f"{self.words[1]} ended with code {done.returncode}: {last[0]}")


def copies(runs: int) -> Iterator[dict[str, Any]]:
    """So many records: the published ones that were trained, then the same again with other seeds."""
    trained = [record for line in PUBLISHED.read_text(encoding="utf-8").splitlines() if "hardened" not in (record := json.loads(line))]
    again = ({**record, "seed": record["seed"] + copy * SEEDS} for copy in itertools.count() for record in trained)
    return itertools.islice(again, runs)


def write(records: Iterator[dict[str, Any]], outputs: Path) -> None:
    for record in records:
        place = outputs / record["task"] / f"{record['mixer']}-{record['cell']}" / f"s{record['seed']}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
