"""What to do with a run that was asked for: nothing, go on with it, or start it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mingru.sweep import provenance, records

CHECKPOINT = "checkpoint.ckpt"


@dataclass(frozen=True)
class Claim:
    """`record` is the result or failure that stands; without one the run trains, from `checkpoint` where there is one."""

    attempt: int
    record: dict[str, Any] | None = None
    checkpoint: Path | None = None


def is_result(record: dict[str, Any]) -> bool:
    """A result says how the run ended, finished or diverged; a failure doesn't."""
    return "status" in record


def is_stale(record: dict[str, Any]) -> bool:
    return record.get("code") != provenance.code_digest()


def standing(directory: Path, rerun: str | None) -> dict[str, Any] | None:
    """The result or failure of a run that is not to be trained again.

    Finished runs stand unless `rerun` is `all`, or `stale` and other code made them; failed ones unless it is `failed` or `all`.
    """
    result = records.read_json(directory / records.RESULT)
    if result is not None:
        return None if rerun == "all" or (rerun == "stale" and is_stale(result)) else result
    return None if rerun in ("failed", "all") else records.read_json(directory / records.FAILURE)


def claim(directory: Path, rerun: str | None) -> Claim:
    """Decide for a locked run directory, setting an older attempt aside where it is redone.

    An interrupted run goes on from its checkpoint when the same code started it, and is started anew otherwise.
    """
    record = standing(directory, rerun)
    if record is not None:
        return Claim(record["attempt"], record=record)
    started = records.read_json(directory / records.STARTED)
    if started is None:
        return Claim(attempt=records.set_aside(directory) if directory.exists() else 1)
    ended = any((directory / name).exists() for name in (records.RESULT, records.FAILURE))
    if ended or rerun == "all" or is_stale(started):
        return Claim(records.set_aside(directory))
    checkpoint = directory / CHECKPOINT
    return Claim(started["attempt"], checkpoint=checkpoint if checkpoint.is_file() else None)
