"""Other packages, from PyPI into a throw-away folder: an import name of theirs is ours too, so they never share a process with us."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from scripts.benchmarks.remote import WorkError

# mingru-scans is the published ladder. einops is what the other two need beside torch.
PACKAGES = ("mingru-scans==0.2.0", "assoc-scan==0.0.6", "minGRU-pytorch==0.2.1", "einops>=0.8")


def install(folder: Path) -> dict[str, str]:
    """Install them without their dependencies, torch above all; the version of each. WorkError where pip cannot."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise WorkError(f"the peers could not be installed: {done.stderr.strip().splitlines()[-1]}")
    return {each.metadata["Name"]: each.version for each in distributions(path=[str(folder)])}
