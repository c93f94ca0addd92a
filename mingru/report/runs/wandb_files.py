"""Runs as W&B's offline files keep them, read without a server and without a key.

A .wandb file is a LevelDB log (blocks of 32 kB, records split over them) of protobuf records. The format is private to
wandb, which is pinned below 0.32 for it; a test writes files with the real client and reads them back.
Reading it here takes a hundredth of the time of `wandb-core leet inspect`, a process per file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mingru.report.runs.record import RunsError, Source
from mingru.report.runs.wandb_api import run_of

MAGIC = b":W&B"
FILE_HEADER = 7
BLOCK = 32_768
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class _File:
    path: Path
    run_id: str | None = None
    started: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


def read(folder: Path) -> Source:
    """The training runs of every .wandb file under `folder`.

    A run that was resumed has several files of one id: they are one run, the later file winning. A file that was cut
    before its config was written holds no run; it is named in a note.
    Raises RunsError when `folder` is not a folder.
    """
    if not folder.is_dir():
        raise RunsError(f"{folder}: no such folder")
    # latest-run is a link to one of the other folders
    paths = sorted({path.resolve() for path in folder.rglob("*.wandb")})
    source = Source(f"W&B files under {folder}", [])
    with ThreadPoolExecutor(8) as pool:
        files = list(pool.map(_read_file, paths))
    runs: dict[str, _File] = {}
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


def _read_file(path: Path) -> _File:
    from wandb.proto.wandb_internal_pb2 import Record

    file = _File(path)
    for data in _log_records(path.read_bytes()):
        record = Record.FromString(data)
        kind = record.WhichOneof("record_type")
        if kind == "run":
            file.run_id = record.run.run_id
            file.started = record.run.start_time.seconds + record.run.start_time.nanos / 1e9
            _update(file.config, record.run.config.update)
            _update(file.summary, record.run.summary.update)
        elif kind == "config":
            _update(file.config, record.config.update)
        elif kind == "summary":
            _update(file.summary, record.summary.update)
    return file


def _log_records(data: bytes) -> Iterator[bytes]:
    """The whole records of a LevelDB log; a tail that was cut off is left out."""
    if not data.startswith(MAGIC):
        return
    position, parts = FILE_HEADER, []
    while position + 7 <= len(data):
        left = BLOCK - position % BLOCK
        if left < 7:
            position += left
            continue
        _, size, kind = struct.unpack_from("<IHB", data, position)
        position += 7
        if kind not in (FULL, FIRST, MIDDLE, LAST) or position + size > len(data):
            return
        if kind in (FULL, FIRST):
            parts = []
        parts.append(data[position : position + size])
        position += size
        if kind in (FULL, LAST):
            yield b"".join(parts)


def _update(target: dict[str, Any], items: Iterable[Any]) -> None:
    for item in items:
        *path, last = item.nested_key or [item.key]
        place = target
        for key in path:
            if not isinstance(place.get(key), dict):
                place[key] = {}
            place = place[key]
        place[last] = json.loads(item.value_json)
