"""Finished records in one file that can be committed: one JSON object a line.

A sweep counts a run that it finds there, of the same cell, seed and code, as finished, so that a study survives a lost machine. Weights
are not in it.
"""

import json
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mingru.settings import project_path
from mingru.sweep import provenance, records
from mingru.sweep.cell import cell_hash
from mingru.sweep.claim import is_result
from mingru.sweep.request import Request

log = logging.getLogger(__name__)
# Beside a run's record: where it was exact as learned (scripts/exact.py).
EXACTNESS = "exactness.json"


def key(record: dict[str, Any]) -> tuple[str, int, str]:
    return record["cell"], record["seed"], record["code"]


def read(file: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """The records by cell, seed and code; none where there is no file. ValueError for a line that is no record."""
    if not file.exists():
        return {}
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
            found[key(record)] = record
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{file}: line {number} is no record of a finished run") from None
    return found


def append(file: Path, results: Iterable[dict[str, Any]]) -> int:
    """Add the finished records that are not in the file yet, or of which less is told there; the file is replaced as a whole.

    Returns how many there were.
    """
    there = read(file)
    new = {key(record): record for record in results if is_result(record) and tells_more(record, there.get(key(record)))}
    if new:
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(records.finite(without_place(each)), separators=(",", ":"), allow_nan=False) for each in (there | new).values())
        with records.whole(file) as part:
            part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return len(new)


def tells_more(record: dict[str, Any], than: dict[str, Any] | None) -> bool:
    return than is None or not record.keys() <= than.keys()


def without_place(record: dict[str, Any]) -> dict[str, Any]:
    """The record without the folder that it was made in, which means nothing elsewhere."""
    return record | {"config": record["config"] | {"outputs": "outputs"}}


def restore(requests: Sequence[Request]) -> int:
    """Write result.json for the requested runs that their config's `published` file has and `outputs` does not."""
    total = 0
    for file in {request.cell.config["published"] for request in requests} - {None}:
        there, restored = read(Path(project_path(file))), 0
        for request in requests:
            wanted = request.cell.config
            record = there.get((cell_hash(wanted), request.seed, provenance.code_digest()))
            if record is None or wanted["published"] != file or wanted["rerun"] is not None or request.directory.exists():
                continue
            records.write_json(request.directory / records.RESULT, record)
            restored += 1
        if restored:
            log.warning("%s: %d of the runs are taken from there", file, restored)
        total += restored
    return total
