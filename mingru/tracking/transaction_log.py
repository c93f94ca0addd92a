"""W&B's own file of a run, read without a server and without a key.

A .wandb file is a LevelDB log (blocks of 32 kB, records split over them) of protobuf records. The format is private to
wandb, which is pinned below 0.32 for it; a test writes files with the real client and reads them back.
Reading it here takes a hundredth of the time of `wandb-core leet inspect`, a process per file.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAGIC = b":W&B"
FILE_HEADER = 7
BLOCK = 32_768
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class TransactionLog:
    """What one file holds; `run_id` is None where it ends before the run's first record. `rows` are the logged metrics by step."""

    path: Path
    run_id: str | None = None
    started: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)


def read(path: Path, with_rows: bool = False) -> TransactionLog:
    """As much as can be read: a tail that was cut off or damaged is left out."""
    from google.protobuf.message import DecodeError
    from wandb.proto.wandb_internal_pb2 import Record

    log = TransactionLog(path)
    for data in _log_records(path.read_bytes()):
        try:
            _take_in(log, Record.FromString(data), with_rows)
        except (DecodeError, ValueError):
            break
    return log


def _take_in(log: TransactionLog, record: Any, with_rows: bool) -> None:
    kind = record.WhichOneof("record_type")
    if kind == "run":
        log.run_id = record.run.run_id
        log.started = record.run.start_time.seconds + record.run.start_time.nanos / 1e9
        _update(log.config, record.run.config.update)
        _update(log.summary, record.run.summary.update)
    elif kind == "config":
        _update(log.config, record.config.update)
    elif kind == "summary":
        _update(log.summary, record.summary.update)
    elif kind == "history" and with_rows:
        row: dict[str, Any] = {}
        _update(row, record.history.item)
        log.rows.setdefault(int(row.get("_step", record.history.step.num)), {}).update(row)


def _log_records(data: bytes) -> Iterator[bytes]:
    """The whole records of a LevelDB log."""
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
