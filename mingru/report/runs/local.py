"""Runs as their folders tell them: started.json, then result.json or failure.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mingru.report.runs.record import Run, RunsError, Source, from_parts

FILES = {"started.json", "result.json", "failure.json"}
# Where the run was exact as learned (scripts/exact.py writes it).
EXACTNESS = "exactness.json"
OTHER_FOLDERS = {"wandb", "report"}
# The key of a result that says which run it was made from (mingru/analysis/hardened_run.py writes it): it is no seed of its own.
HARDENED = "hardened"
CELL_FOLDER = re.compile(r"(?P<slug>.+)-(?P<cell>[0-9a-f]{8})")
SEED_FOLDER = re.compile(r"s(?P<seed>\d+)(?:-a(?P<attempt>\d+))?")


def read(outputs: Path) -> Source:
    """Every folder under `outputs` that holds a record of a run. Hardened ones are left out, and their number noted.

    Raises RunsError when `outputs` is not a folder.
    """
    if not outputs.is_dir():
        raise RunsError(f"{outputs}: no such folder")
    return counted(str(outputs), [_run(Path(folder), names) for folder, names in _run_folders(str(outputs))])


def counted(name: str, runs: list[Run]) -> Source:
    """The runs that are runs of their own, which hardened ones are not."""
    own = [run for run in runs if HARDENED not in run.values]
    left_out = len(runs) - len(own)
    notes = [f"{name}: {left_out} hardened, which count as no runs of their own"] if left_out else []
    return Source(name, sorted(own, key=lambda run: run.origin), notes)


def _run_folders(top: str) -> Iterator[tuple[str, set[str]]]:
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        names = set()
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.add(entry.name)
                elif entry.name not in OTHER_FOLDERS:
                    waiting.append(entry.path)
        if names & FILES:
            yield folder, names & {*FILES, EXACTNESS}


def _run(folder: Path, names: set[str]) -> Run:
    problems: list[str] = []
    started = _read(folder / "started.json", problems) if "started.json" in names else None
    outcome: dict[str, Any] = {}
    if "result.json" in names:
        outcome = _read(folder / "result.json", problems) or {}
    elif "failure.json" in names:
        failure = _read(folder / "failure.json", problems) or {}
        identity = {key: value for key, value in failure.items() if key not in ("error", "traceback", "failed_at")}
        outcome = {**identity, "status": "failed", "failure": failure.get("error", "failure.json is unreadable")}
    if EXACTNESS in names:
        outcome["exactness"] = _read(folder / EXACTNESS, problems)
    identity = {**_identity_from_path(folder), **(started or {})}
    return from_parts(identity, outcome, str(folder), "; ".join(problems) or None)


def _read(path: Path, problems: list[str]) -> dict[str, Any] | None:
    try:
        record = json.loads(path.read_bytes(), parse_constant=lambda _: None)
    except (OSError, ValueError, RecursionError) as error:
        problems.append(f"{path}: unreadable ({' '.join(str(error).split())})")
        return None
    if not isinstance(record, dict):
        problems.append(f"{path}: unreadable (a JSON {type(record).__name__}, not an object)")
        return None
    return record


def _identity_from_path(folder: Path) -> dict[str, Any]:
    """What <outputs>/<task>/<slug>-<cell>/s<seed> says, for the run whose own record is unreadable."""
    cell, seed = CELL_FOLDER.fullmatch(folder.parent.name), SEED_FOLDER.fullmatch(folder.name)
    if not cell or not seed:
        return {}
    return {
        "task": folder.parent.parent.name,
        "cell": cell["cell"],
        "seed": int(seed["seed"]),
        "attempt": int(seed["attempt"] or 0) or None,
    }
