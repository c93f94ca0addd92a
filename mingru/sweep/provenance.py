"""What made a result: the commit, a digest of the code that computes, the versions of the libraries, the device."""

import functools
import hashlib
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mingru.settings import PROJECT

LIBRARIES = {
    "torch": "torch", "lightning": "lightning", "hydra": "hydra-core", "wandb": "wandb", "numpy": "numpy", "numba": "numba",
    "triton": "triton",
}  # fmt: skip
# They show or examine results that are there, and nothing of them runs in training: they cannot change one.
AFTERWARDS = ("mingru/report/", "mingru/analysis/", "mingru/mixers/hardened.py", "mingru/sweep/display.py", "mingru/sweep/pace.py")


def git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@functools.cache
def commit() -> tuple[str | None, bool | None]:
    """The commit and whether the working tree differs from it; None outside a git checkout."""
    head = git("rev-parse", "HEAD")
    return (head, bool(git("status", "--porcelain"))) if head else (None, None)


@functools.cache
def code_digest(project: Path = PROJECT) -> str:
    """Twelve hexadecimal digits over train.py, tasks/ and mingru/, without the parts that only look at results."""
    digest = hashlib.sha256()
    files = [project / "train.py", *sorted((project / "tasks").rglob("*.py")), *sorted((project / "mingru").rglob("*.py"))]
    for file in files:
        name = file.relative_to(project).as_posix()
        if file.is_file() and not name.startswith(AFTERWARDS):
            digest.update(name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:12]


@functools.cache
def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    for name, distribution in LIBRARIES.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            continue
    return found
