"""What the run directories hold, as W&B should have it: the records' config and summary, and the logged rows."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mingru.sweep import records
from mingru.tracking import names, superseded, transaction_log

FOLDER = "wandb"
MARKER = "uploaded.json"


@dataclass(frozen=True)
class Kept:
    """An attempt at a run. `summary` is empty for one that was killed; `digest` changes with whatever W&B should know of."""

    directory: Path
    identity: dict[str, Any]
    summary: dict[str, Any]
    exit_code: int
    digest: str

    @property
    def config(self) -> dict[str, Any]:
        return self.identity["config"]

    @property
    def run_id(self) -> str:
        return names.run_id(self.identity)

    @property
    def superseded(self) -> bool:
        return superseded.is_superseded(self.directory)

    @property
    def marker(self) -> Path:
        return self.directory / FOLDER / MARKER

    @property
    def is_uploaded(self) -> bool:
        """W&B was found to hold all of it."""
        return (records.read_json(self.marker) or {}).get("digest") == self.digest


def attempts(outputs: Path) -> Iterator[Kept]:
    """Every attempt under `outputs` that was to be in W&B."""
    for started in sorted(outputs.glob(f"*/*/*/{records.STARTED}")):
        identity = records.read_json(started)
        if identity is not None and identity["config"]["logger"]["kind"] != "none":
            identity.pop("started_at", None)
            yield attempt(started.parent, identity)


def attempt(directory: Path, identity: dict[str, Any]) -> Kept:
    result, failure = (records.read_json(directory / name) for name in (records.RESULT, records.FAILURE))
    if result is not None:
        summary, exit_code = names.summary(result, identity), 0
    elif failure is not None:
        summary, exit_code = names.failed(failure["error"]), 1
    else:
        summary, exit_code = {}, 1
    if superseded.is_superseded(directory):
        summary[names.SUPERSEDED] = 1
    files = [[file.name, file.stat().st_size] for file in files_of(directory)]
    known = json.dumps([identity, summary, exit_code, files], sort_keys=True)
    return Kept(directory, identity, summary, exit_code, hashlib.sha256(known.encode()).hexdigest()[:16])


def files_of(directory: Path) -> list[Path]:
    """W&B's files of the run's parts; `latest-run` is a link to one of the other folders."""
    return sorted({file.resolve() for file in (directory / FOLDER).glob("*/*.wandb")})


def rows(directory: Path) -> dict[int, dict[str, Any]]:
    """The metrics by training step: those of every part of the run, the later part winning, and the validations of the result."""
    found: dict[int, dict[str, Any]] = {}
    for log in sorted((transaction_log.read(file, with_rows=True) for file in files_of(directory)), key=lambda log: log.started):
        for step, row in log.rows.items():
            logged = {key: value for key, value in row.items() if key == "_timestamp" or not key.startswith("_")}
            found.setdefault(step, {}).update(logged)
    for entry in (records.read_json(directory / records.RESULT) or {}).get("validation", []):
        validation = {f"validation/{key}": value for key, value in entry.items() if key != "step" and value is not None}
        if validation:
            found[entry["step"]] = {**validation, **found.get(entry["step"], {})}
    return found
