"""A copy of a config folder that nobody edits, so that the jobs of a sweep all read what it started with."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mingru.cli.refusal import Refusal


@dataclass(frozen=True)
class Snapshot:
    """The YAML files of a folder as they are now, and `<outputs>/.conf/<digest>`, where a copy of them belongs."""

    files: tuple[tuple[str, bytes], ...]
    home: Path

    def write(self) -> None:
        """Write the copy whole or not at all; one that is there already has the same content and stays."""
        try:
            if self.home.is_dir():
                return
            self.home.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.home.parent, prefix=".writing-") as folder:
                for name, content in self.files:
                    path = Path(folder, "conf", name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
                self._claim(Path(folder, "conf"))
        except OSError as error:
            raise Refusal(f"the frozen copy of the configs can't be written: {error}") from error

    def _claim(self, folder: Path) -> None:
        try:
            folder.rename(self.home)
        except OSError:
            # Another sweep that started at the same moment was first.
            if not self.home.is_dir():
                raise


def snapshot(folder: Path, outputs: Path) -> Snapshot:
    """Read a config folder's YAML; nothing is written yet."""
    files = []
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(parent, name) for name in names if name.endswith(".yaml")]
    contents = tuple((path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(files))
    digest = hashlib.sha256()
    for name, content in contents:
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return Snapshot(contents, outputs / ".conf" / digest.hexdigest()[:12])


def refuse_unwritable(outputs: Path, came: str) -> None:
    """Raise Refusal unless files can be made below `outputs`, which needn't exist yet. Leaves nothing behind."""
    nearest = outputs
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not os.path.isdir(nearest):
        raise Refusal(f"{came}: {nearest} is no folder")
    try:
        # os.access says yes to root, and on some systems to anybody.
        os.rmdir(tempfile.mkdtemp(dir=nearest, prefix=".writable-"))
    except OSError as error:
        raise Refusal(f"{came}: {nearest} is not writable ({error.strerror})") from error
