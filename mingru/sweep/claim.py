"""What to do with a run that was asked for: nothing, go on with it, or start it."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mingru.sweep import provenance, records

log = logging.getLogger(__name__)
CHECKPOINT = "checkpoint.ckpt"


@dataclass(frozen=True)
class Claim:
    """`record` is the result or failure that stands; without one the run trains, from `checkpoint` where there is one."""

    attempt: int
    record: dict[str, Any] | None = None
    checkpoint: Path | None = None


def claim(directory: Path, rerun: str | None) -> Claim:
    """Decide for a locked run directory, setting an older attempt aside where it is redone.

    Finished runs stand unless `rerun` is `all`, or `stale` and other code made them; failed ones unless it is `failed` or `all`.
    An interrupted run goes on from its checkpoint when the same code started it, and is started anew otherwise.
    """
    started = records.read_json(directory / records.STARTED)
    if started is None:
        return Claim(attempt=records.set_aside(directory) if directory.exists() else 1)
    result = records.read_json(directory / records.RESULT)
    failure = records.read_json(directory / records.FAILURE)
    same_code = started.get("code") == provenance.code_digest()
    if result is not None and rerun != "all" and (same_code or rerun != "stale"):
        if not same_code:
            log.warning("%s: kept, though other code (%s) made it; rerun=stale redoes it", directory, started.get("code"))
        return Claim(started["attempt"], record=result)
    if failure is not None and result is None and rerun not in ("failed", "all"):
        return Claim(started["attempt"], record=failure)
    interrupted = result is None and failure is None and rerun != "all"
    if interrupted and same_code:
        checkpoint = directory / CHECKPOINT
        return Claim(started["attempt"], checkpoint=checkpoint if checkpoint.is_file() else None)
    return Claim(records.set_aside(directory))
