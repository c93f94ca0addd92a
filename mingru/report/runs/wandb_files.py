"""Runs as W&B's offline files keep them, read without a server and without a key."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mingru.report.runs.record import RunsError, Source
from mingru.report.runs.wandb_api import run_of


def read(folder: Path) -> Source:
    """The training runs of every .wandb file under `folder`.

    A run that was resumed has several files of one id: they are one run, the later file winning. A file that was cut
    before its config was written holds no run; it is named in a note.
    Raises RunsError when `folder` is not a folder.
    """
    # imported here: a report on run folders starts without wandb and hydra
    from mingru.tracking import transaction_log

    if not folder.is_dir():
        raise RunsError(f"{folder}: no such folder")
    # latest-run is a link to one of the other folders
    paths = sorted({path.resolve() for path in folder.rglob("*.wandb")})
    source = Source(f"W&B files under {folder}", [])
    with ThreadPoolExecutor(8) as pool:
        files = list(pool.map(transaction_log.read, paths))
    runs: dict[str, transaction_log.TransactionLog] = {}
    for file in sorted(files, key=lambda file: (file.started, str(file.path))):
        if file.run_id is None or not file.config:
            source.notes.append(f"{file.path}: ends before the run's config, so it cannot be told which run it is")
        elif file.run_id in runs:
            runs[file.run_id].config.update(file.config)
            runs[file.run_id].summary.update(file.summary)
        else:
            runs[file.run_id] = file
    for run_id, file in runs.items():
        run = run_of(file.config, file.summary, f"W&B run {run_id}")
        source.runs += [run] if run else []
    return source
