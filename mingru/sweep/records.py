"""The run directory: who may write it, which attempt it holds, and its three records.

`started.json` at the start, then `result.json` (finished or diverged) or `failure.json` (it raised). A killed run has only the first.
Every file is written whole: a temporary file in the same folder, flushed to disk, then renamed.
"""

import datetime
import json
import logging
import math
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mingru.settings import project_path
from mingru.sweep import provenance
from mingru.sweep.cell import cell_hash, slug

log = logging.getLogger(__name__)
STARTED, RESULT, FAILURE = "started.json", "result.json", "failure.json"


def run_directory(config: dict[str, Any]) -> Path:
    """`<outputs>/<task>/<stack slug>-<cell hash>/s<seed>/` of a resolved config."""
    outputs = Path(project_path(config["outputs"]))
    return outputs / config["task"]["name"] / f"{slug(config)}-{cell_hash(config)}" / f"s{config['seed']}"


@contextmanager
def lock(directory: Path) -> Iterator[bool]:
    """Hold the run, and tell whether a living process of another sweep had it first. The system frees the lock of a dead one."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(f"{directory}.lock")
    try:
        # Longer than `is_locked` looks.
        held.acquire(timeout=0.3)
        waited = False
    except Timeout:
        log.info("%s: another process is at it; waiting for its result", directory)
        held.acquire()
        waited = True
    try:
        yield waited
    finally:
        held.release()


def is_locked(directory: Path) -> bool:
    try:
        with FileLock(f"{directory}.lock", blocking=False):
            return False
    except Timeout:
        return True
    except OSError:
        # Nobody can hold what cannot be opened; who tries to run there will say what is wrong.
        return False


def finite(value: Any) -> Any:
    """Numbers that are not finite become null, which JSON and every reader of it can hold."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to; it takes the file's place when it is complete and on the disk."""
    part = file.with_name(f".{file.name}.part")
    try:
        yield part
        with part.open("rb+") as stream:
            os.fsync(stream.fileno())
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def write_json(file: Path, record: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as part:
        part.write_text(json.dumps(finite(record), indent=1, allow_nan=False), encoding="utf-8")


def read_json(file: Path) -> dict[str, Any] | None:
    """The record, or None where there is none or it cannot be read."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def identity(config: dict[str, Any], attempt: int, device: str) -> dict[str, Any]:
    """The keys that say which run this is and what made it; they stand in all three records and in W&B's config."""
    commit, dirty = provenance.commit()
    return {
        "task": config["task"]["name"],
        "mixer": config["mixer"]["name"],
        "extractor": config["extractor"],
        "layers": [{key: value for key, value in layer.items() if key != "_target_"} for layer in config["stack"]],
        "length": config["length"],
        "seed": config["seed"],
        "attempt": attempt,
        "threads": config["threads"],
        "steps": config["steps"],
        "cell": cell_hash(config),
        "code": provenance.code_digest(),
        "commit": commit,
        "dirty": dirty,
        "versions": provenance.versions(),
        "device": device,
        "config": config,
    }


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def failure(error: BaseException) -> dict[str, Any]:
    return {"error": one_line(error), "traceback": "".join(traceback.format_exception(error)), "failed_at": now()}


def set_aside(directory: Path) -> int:
    """Rename a run's folder to `s<seed>-a<attempt>`, so that nothing is lost; the number of the next attempt."""
    record = read_json(directory / STARTED) or {}
    attempt = record.get("attempt", 1)
    while (kept := directory.with_name(f"{directory.name}-a{attempt}")).exists():
        attempt += 1
    directory.rename(kept)
    return attempt + 1
