"""Packages that only marked tests need, installed when the first of them runs."""

import importlib.util
import subprocess
import sys

from mingru.settings import PROJECT


def install(module: str, *requirements: str) -> None:
    """Put the requirements into the running environment unless `module` is there."""
    if importlib.util.find_spec(module) is None:
        constraints = str(PROJECT / "constraints.txt")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "-c", constraints, *requirements], check=True)
        importlib.invalidate_caches()
