"""From a run that was asked for to its record: locked, skipped when it is already there, and never without a trace."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mingru import tracking
from mingru.sweep import records
from mingru.sweep.claim import claim

log = logging.getLogger(__name__)
# measure(directory, checkpoint, wandb_run) trains and returns what it measured.
Measure = Callable[[Path, Path | None, Any], dict[str, Any]]


def settle(config: dict[str, Any], device: str, measure: Measure) -> dict[str, Any]:
    """The result of a resolved config's run, trained now unless it stands. RuntimeError for a run that failed before."""
    directory = records.run_directory(config)
    with records.lock(directory):
        claimed = claim(directory, config["rerun"])
        if claimed.record is None:
            identity = records.identity(config, claimed.attempt, device)
            return execute(config, identity, directory, claimed.checkpoint, measure)
    if "status" not in claimed.record:
        raise RuntimeError(f"{directory}: failed before ({claimed.record['error']}); rerun=failed tries again")
    return claimed.record


def execute(
    config: dict[str, Any], identity: dict[str, Any], directory: Path, checkpoint: Path | None, measure: Measure
) -> dict[str, Any]:
    """Train, and leave the run's records behind whatever happens."""
    if not (directory / records.STARTED).exists():
        records.write_json(directory / records.STARTED, {**identity, "started_at": records.now()})
    try:
        with tracking.track(config, identity, directory) as wandb_run:
            record = records.finite({**identity, **measure(directory, checkpoint, wandb_run)})
            records.write_json(directory / records.RESULT, record)
            tracking.summarise(wandb_run, record, identity)
    except Exception as error:
        if not (directory / records.RESULT).exists():
            records.write_json(directory / records.FAILURE, {**identity, **records.failure(error)})
            raise
        log.warning("%s: the result is safe, but W&B could not close the run: %s", directory, error)
    return record


def one_line(record: dict[str, Any]) -> str:
    """What a user wants to read when a run ends."""
    name = f"{record['task']} {'-'.join(layer['mixer'] for layer in record['layers'])} L{record['length']} seed {record['seed']}"
    if record["status"] == "diverged":
        return f"{name}: diverged"
    selection, score = record["selection"], "accuracy" if "accuracy" in record else "error"
    lengths = ", ".join(f"{value:.4f} at {length}" for length, value in record[score].items())
    verdict = "fits" if record["fit"] else "does not fit"
    return f"{name}: {verdict} ({selection[f'fresh_{score}']:.4f}, chosen at step {selection['step']}); {score} {lengths}"
