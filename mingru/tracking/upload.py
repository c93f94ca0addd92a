"""Bring to W&B what is not there, or not whole: offline runs, and online ones whose connection was lost.

A run is made anew from its records and its logged rows, under the id it always has, and continues what the server holds of it. So nothing
doubles, however often and from however many parts it is uploaded; and a run whose W&B file was cut is complete all the same.
"""

import logging
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from mingru.sweep import records
from mingru.sweep.cell import canonical
from mingru.tracking import kept, names, server
from mingru.tracking.kept import Kept
from mingru.tracking.live import first_line, replay
from mingru.tracking.server import Listed

log = logging.getLogger(__name__)
LOCK = ".wandb-upload.lock"
INIT_SECONDS, FINISH_SECONDS = 30, 60
AT_ONCE = 4
ENDED = {"finished", "failed", "crashed", "killed", "preempted"}


@dataclass
class Outcome:
    """How many runs were uploaded now, how many W&B had, how many are still training, and a line for each that is not there."""

    uploaded: int = 0
    present: int = 0
    running: int = 0
    problems: list[str] = field(default_factory=list)


def upload(outputs: Path) -> Outcome:
    """Upload every attempt under `outputs` that W&B lacks, and look whether it arrived. A second process waits for the first.

    Raises ServerError when W&B can't be reached.
    """
    outcome = Outcome()
    with FileLock(outputs / LOCK):
        for path, runs in by_project(wanting(kept.attempts(outputs), outcome)).items():
            upload_to(path, runs, outcome)
    return outcome


def wanting(runs: Iterable[Kept], outcome: Outcome) -> Iterator[Kept]:
    """The runs that have ended and are not known to be in W&B; the others are counted."""
    for run in runs:
        if run.is_uploaded:
            outcome.present += 1
        elif not run.superseded and records.is_locked(run.directory):
            outcome.running += 1
        else:
            yield run


def by_project(runs: Iterable[Kept]) -> dict[str, list[Kept]]:
    projects: dict[str, list[Kept]] = {}
    for run in runs:
        logger = run.config["logger"]
        path = f"{logger['entity']}/{logger['project']}" if logger["entity"] else logger["project"]
        projects.setdefault(path, []).append(run)
    return projects


def upload_to(path: str, runs: list[Kept], outcome: Outcome) -> None:
    import wandb

    there = listed(path)
    missing = [run for run in runs if not holds(there.get(run.run_id), run) or there[run.run_id].rows < len(kept.rows(run.directory))]
    with ThreadPoolExecutor(AT_ONCE) as pool, tempfile.TemporaryDirectory() as scratch:
        errors = dict(zip((run.run_id for run in missing), pool.map(lambda run: send(run, scratch), missing), strict=True))
    if any(errors.values()):
        # The client's process holds on to the ids of runs that could not begin.
        wandb.teardown()
    there = listed(path) if missing else there
    for run in runs:
        if not holds(there.get(run.run_id), run):
            outcome.problems.append(f"{run.directory}: {errors.get(run.run_id) or 'was sent, but W&B does not show all of it'}")
            continue
        records.write_json(run.marker, {"run": f"{path}/{run.run_id}", "digest": run.digest})
        outcome.uploaded += run.run_id in errors
        outcome.present += run.run_id not in errors


def listed(path: str) -> dict[str, Listed]:
    try:
        return {run.id: run for run in server.runs(path)}
    except server.NoProject:
        return {}


def holds(there: Listed | None, run: Kept) -> bool:
    """W&B has the run's end, its summary and its mark."""
    if there is None or there.state not in ENDED:
        return False
    found = canonical(there.summary)
    # The local record words a failure its own way.
    expected = canonical({key: value for key, value in run.summary.items() if key != "failure"})
    return all(found.get(key) == value for key, value in expected.items()) and run.superseded == (names.SUPERSEDED in there.tags)


def send(run: Kept, scratch: str) -> str | None:
    """Upload one run; what went wrong, or None."""
    import wandb

    options = names.options(run.config, run.identity)
    options["tags"] += [names.SUPERSEDED] if run.superseded else []
    try:
        sent = wandb.init(
            mode="online",
            resume="allow",
            reinit="create_new",
            dir=scratch,
            settings=names.settings(INIT_SECONDS, FINISH_SECONDS),
            **options,
        )
        replay(sent, kept.rows(run.directory))
        sent.summary.update(run.summary)
        sent.finish(exit_code=run.exit_code)
    except Exception as error:
        return first_line(error)
    return None
