"""The machine that was measured, in words, and whether it is quiet."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

from mingru.sweep import provenance

# Of the cores; more than that is somebody else's work.
QUIET = 0.25


def load() -> float | None:
    """Processes that ran or waited, averaged over the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def busy() -> str | None:
    """One line about other work on this machine, or None."""
    now = load()
    if now is None or now <= QUIET * cores():
        return None
    return f"the load average is {now:.1f} on {cores()} cores: other work is running, so these times are not to be trusted"


def describe() -> dict[str, Any]:
    commit, dirty = provenance.commit()
    return {
        "cpu": cpu(),
        "cores": cores(),
        "memory": memory(),
        **provenance.versions(),
        "compiler": compiler(),
        "commit": commit,
        "dirty": dirty,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "load at start": load(),
    }


def cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        entries = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        named = {key.strip(): value.strip() for key, value in entries.items()}
        if "model name" in named:
            model = f" (family {named['cpu family']}, model {named['model']})" if {"cpu family", "model"} <= named.keys() else ""
            return named["model name"] + model
    if platform.system() == "Darwin":
        return subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()


def memory() -> str:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return "unknown"
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"


def compiler() -> str:
    """What torch.compile would find."""
    found = next((path for path in map(shutil.which, ("g++", "clang++")) if path), None)
    if found is None:
        return "none"
    return subprocess.run([found, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
