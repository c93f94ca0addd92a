"""Small runs, and what the service has of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import train
from mingru import tracking
from mingru.sweep import records
from mingru.tracking import names
from tests.composed import tiny
from tests.report.synthetic import config, outcome, started
from tests.wandb_server import Service

PROJECT = "lab/mingru"
# A train row on every 50th step, a validation on every second one.
LOGGED = ("logger=wandb", "logger.init_seconds=4", "logger.finish_seconds=4")


def run(outputs: Path, *words: str) -> dict[str, Any]:
    return train.run(tiny(outputs, *LOGGED, *words))


def directory(outputs: Path, *words: str) -> Path:
    return records.run_directory(train.resolve(tiny(outputs, *LOGGED, *words))[0])


def sent(service: Service, record: dict[str, Any]) -> dict[str, Any]:
    """The service's run of a record, which it must have once."""
    (found,) = (run for run in service.projects.get(PROJECT, []) if run["id"] == names.run_id(record))
    return found


def curve(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A run's rows in the order of their lines, without what a clock says."""
    return [
        {key: value for key, value in found["history"][line].items() if key not in ("_runtime", "_timestamp")}
        for line in sorted(found["history"])
    ]


def tracked(outputs: Path, seed: int, attempt: int = 1, ends: bool = True, **logger: Any) -> dict[str, Any]:
    """A run's records and its W&B part, without the training; one that does not end is cut off there. The started record."""
    chosen = config(seed=seed, outputs=str(outputs))
    chosen["logger"] |= {"mode": "auto", **logger}
    record = started(chosen, attempt)
    directory = records.run_directory(chosen)
    records.write_json(directory / records.STARTED, record)
    with tracking.track(chosen, record, directory) as open_run:
        for step in range(1, 21):
            open_run.log({"train/loss": 1 / step}, step=step)
        if ends:
            result = record | outcome(chosen, fit=True, validation=[])
            records.write_json(directory / records.RESULT, result)
            tracking.summarise(open_run, result, record)
    return record
