"""Runs as a committed file of records keeps them, one JSON object a line (scripts/publish.py appends to it)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mingru.report.runs.local import counted
from mingru.report.runs.record import RunsError, Source, from_parts


def read(file: Path) -> Source:
    """Every record of the file. Hardened ones are left out, and their number noted.

    Raises RunsError when there is no such file, or for a line that is no record.
    """
    if not file.is_file():
        raise RunsError(f"{file}: no such file")
    records = [
        _record(line, f"{file}: line {number}") for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
    ]
    runs = [from_parts(record, record, f"{file}: {record.get('cell')} seed {record.get('seed')}") for record in records]
    return counted(str(file), runs)


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise RunsError(f"{where} is no record of a run")
    return record
