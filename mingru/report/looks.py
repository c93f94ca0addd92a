"""Which reports were read before: adding seeds after a look makes a fixed-n p-value smaller than it should be."""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mingru.report.families import Family


@dataclass(frozen=True)
class Look:
    """One reading: how many runs each compared cell had started by then."""

    at: str
    started: Mapping[str, int]


def load(file: Path) -> list[Look]:
    """Earlier looks, oldest first; lines that cannot be read are passed over."""
    looks = []
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    for line in lines:
        try:
            record = json.loads(line)
            looks.append(Look(str(record["at"]), {str(key): int(n) for key, n in record["started"].items()}))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return looks


def record(file: Path, found: list[Family]) -> None:
    """Append what this reading compares, unless the last one compared the same."""
    started = {key: n for family in found if len(family.cells) > 1 for key, n in cells_started(family).items()}
    earlier = load(file)
    if not started or (earlier and {**earlier[-1].started, **started} == earlier[-1].started):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"at": now, "started": started}) + "\n")


def cells_started(family: Family) -> dict[str, int]:
    """Started runs of each cell, by a key that names the cell and its stratum."""
    return {_key(cell): cell.n + cell.failed + cell.missing for cell in family.each}


def _key(cell: Any) -> str:
    # the arm as well: a record changed by hand keeps its hash
    return f"{cell.task}/{cell.cell}/{zlib.crc32(cell.arm.encode()):08x}/{cell.stratum}"


def seen_before(looks: Sequence[Look], family: Family) -> dict[str, list[int]]:
    """For each label, the numbers of runs at which it was looked at before more were started."""
    found = {}
    for label, (key, now) in zip(family.cells["label"], cells_started(family).items(), strict=True):
        earlier = sorted({look.started[key] for look in looks if 0 < look.started.get(key, 0) < now})
        if earlier:
            found[label] = earlier
    return found
