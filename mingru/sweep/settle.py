"""From a run that was asked for to its record: locked, skipped when it is already there, and never without a trace."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydra.errors import CompactHydraException

from mingru import tracking
from mingru.sweep import interruption, logfile, records
from mingru.sweep.claim import CHECKPOINT, Claim, claim, is_result, is_stale

log = logging.getLogger(__name__)
# measure(directory, checkpoint, wandb_run) trains and returns what it measured.
Measure = Callable[[Path, Path | None, Any], dict[str, Any]]


class FailedBefore(CompactHydraException, RuntimeError):
    """A run that is not tried again; Hydra shows the message without a traceback."""


def settle(config: dict[str, Any], device: str, measure: Measure) -> dict[str, Any]:
    """The result of a resolved config's run, trained now unless it stands. FailedBefore where a failure stands."""
    directory = records.run_directory(config)
    with interruption.listening(), records.lock(directory) as waited:
        # What another sweep has just done isn't done again.
        claimed = claim(directory, None if waited else config["rerun"])
        if claimed.record is None:
            return execute(config, records.identity(config, claimed.attempt, device), directory, claimed, measure)
    if not is_result(claimed.record):
        raise FailedBefore(f"{directory}: failed before ({claimed.record['error']}); rerun=failed tries again")
    if is_stale(claimed.record):
        log.warning("%s: kept, though other code (%s) made it; rerun=stale redoes it", directory, claimed.record.get("code"))
    log.info(one_line(claimed.record))
    return claimed.record


def execute(config: dict[str, Any], identity: dict[str, Any], directory: Path, claimed: Claim, measure: Measure) -> dict[str, Any]:
    """Train, and leave the run's records behind whatever happens."""
    if not (directory / records.STARTED).exists():
        records.write_json(directory / records.STARTED, {**identity, "started_at": records.now()})
    try:
        with logfile.recording(directory):
            if claimed.checkpoint is not None:
                log.info("goes on from its checkpoint")
            return train(config, identity, directory, claimed.checkpoint, measure)
    except interruption.Interrupted:
        raise
    except SystemExit as error:
        failed = RuntimeError(f"the run called exit({error.code})").with_traceback(error.__traceback__)
        note_failure(directory, {**identity, **records.failure(failed)})
        raise failed from error
    except Exception as error:
        note_failure(directory, {**identity, **records.failure(error)})
        raise


def train(config: dict[str, Any], identity: dict[str, Any], directory: Path, checkpoint: Path | None, measure: Measure) -> dict[str, Any]:
    """The run itself, between its W&B run and its result."""
    record = None
    try:
        with tracking.track(config, identity, directory) as wandb_run:
            record = records.finite({**identity, **measure(directory, checkpoint, wandb_run)})
            records.write_json(directory / records.RESULT, record)
            (directory / CHECKPOINT).unlink(missing_ok=True)
            tracking.summarise(wandb_run, record, identity)
    except Exception as error:
        if record is None or not (directory / records.RESULT).exists():
            raise
        log.warning("%s: the result is safe, but W&B could not close the run: %s", directory, error)
    log.info(one_line(record))
    return record


def note_failure(directory: Path, failure: dict[str, Any]) -> None:
    try:
        records.write_json(directory / records.FAILURE, failure)
    except OSError as error:
        log.error("%s: %s could not be written: %s", directory, records.FAILURE, error)


def one_line(record: dict[str, Any]) -> str:
    """What a user wants to read when a run ends."""
    name = f"{record['task']} {'-'.join(layer['mixer'] for layer in record['layers'])} L{record['length']} seed {record['seed']}"
    if record["status"] == "diverged":
        return f"{name}: diverged"
    selection, score = record["selection"], "accuracy" if "accuracy" in record else "error"
    lengths = ", ".join(f"{value:.4f} at {length}" for length, value in record[score].items())
    verdict = "fits" if record["fit"] else "does not fit"
    return f"{name}: {verdict} ({selection[f'fresh_{score}']:.4f}, chosen at step {selection['step']}); {score} {lengths}"
