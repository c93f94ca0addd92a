"""Digests of the files that a task's settings name: other content gives other numbers, so it is another cell."""

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mingru.settings import HYDRA_KEYS, project_path


def digests(task: dict[str, Any]) -> dict[str, str]:
    """Twelve hexadecimal digits for each setting of a resolved task, at any depth, that is the name of a file or folder.

    A relative name counts from the project's root, as tasks read it. Of a folder the files lying directly in it count, their names too.
    """
    settings = {key: value for key, value in task.items() if key != "name"}
    return {name: digest(Path(project_path(name))) for name in sorted(set(strings(settings))) if os.path.exists(project_path(name))}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item) if key not in HYDRA_KEYS else ()
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def digest(path: Path) -> str:
    whole = hashlib.sha256()
    for file in sorted(filter(Path.is_file, path.iterdir())) if path.is_dir() else [path]:
        name = file.name if path.is_dir() else ""
        known = file.stat()
        whole.update(f"{name}\0{file_digest(file, known.st_size, known.st_mtime_ns)}\0".encode())
    return whole.hexdigest()[:12]


@functools.cache
def file_digest(file: Path, size: int, changed: int) -> str:
    """Of a file of this size and time of change, so that the cells of a sweep read it once."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
