"""Runs as the W&B service keeps them: config and summary, never the sampled history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mingru.report.runs.record import Run, RunsError, Source, from_parts


def read(path: str) -> Source:
    """The training runs of the W&B project `entity/project`.

    Raises RunsError when the service cannot be reached, refuses the key, knows no such project, or stops answering before the last page:
    a table of some of the runs would look like one of all of them.
    """
    # imported here: a report on run folders starts without wandb and hydra
    from mingru.tracking import server

    source = Source(f"W&B {path}", [])
    others = 0
    try:
        for listed in server.runs(path):
            run = run_of(listed.config, listed.summary, f"W&B run {listed.id}")
            source.runs += [run] if run else []
            others += run is None
    except server.ServerError as error:
        raise RunsError(f"W&B {path}: {error}") from error
    if others:
        source.notes.append(f"W&B {path}: {others} run{'s' * (others > 1)} not made by train.py left out")
    return source


def run_of(config: Mapping[str, Any], summary: Mapping[str, Any], origin: str) -> Run | None:
    """A run from W&B's two halves; None for one that train.py did not make (no task, no seed)."""
    if "task" not in config or "seed" not in config:
        return None
    started = {key: value for key, value in config.items() if not key.startswith("_")}
    outcome = {key: value for key, value in summary.items() if not key.startswith("_")}
    return from_parts(started, outcome, origin)
