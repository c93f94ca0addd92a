"""Name every difference between the runs of two sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mingru.report.cells import flat
from mingru.report.runs.record import Run, Source
from mingru.sweep.cell import canonical

LONGEST_VALUE = 60
# compared by itself, worded differently, known to the folder only
LEFT_OUT = {"status", "failure", "started_at"}
Key = tuple[str, str, str, str]


def differences(given: Source, kept: Source) -> list[str]:
    """One line for each run that only one source has, and for each key of a run whose values differ.

    A missing key and null are the same, as are 1 and true: W&B drops nulls and stores flags as numbers. Keys that only
    W&B writes are left out.
    """
    ours, theirs = _by_key(kept.runs), _by_key(given.runs)
    lines = []
    for key in sorted({*ours, *theirs}):
        if key not in theirs or key not in ours:
            here, there = (kept, given) if key in ours else (given, kept)
            lines.append(f"{_name(key)}: in {here.name}, not in {there.name}")
            continue
        lines += [f"{_name(key)}: {line}" for line in _run_differences(theirs[key], ours[key], given.name, kept.name)]
    return lines


def _by_key(runs: Iterable[Run]) -> dict[Key, Run]:
    found = {}
    for run in runs:
        task, cell, seed, attempt = (str(run.values.get(key)) for key in ("task", "cell", "seed", "attempt"))
        found[task, cell, seed.zfill(6), attempt.zfill(3)] = run
    return found


def _name(key: Key) -> str:
    task, cell, seed, attempt = key
    return f"{task} cell {cell} seed {seed.lstrip('0') or 0} attempt {attempt.lstrip('0') or 0}"


def _run_differences(given: Run, kept: Run, given_name: str, kept_name: str) -> list[str]:
    lines = []
    if given.status != kept.status:
        lines.append(f"status is {given.status} in {given_name}, {kept.status} in {kept_name}")
    for key in sorted(set(kept.values) - LEFT_OUT):
        ours, theirs = _plain(kept.values[key]), _plain(given.values.get(key))
        if ours == theirs:
            continue
        here, there = flat(ours, key), flat(theirs, key)
        for name in sorted({*here, *there}):
            if here.get(name) != there.get(name):
                lines.append(f"{name} is {_short(there.get(name))} in {given_name}, {_short(here.get(name))} in {kept_name}")
    return lines


def _plain(value: Any) -> Any:
    """Canonical, with the string that wandb writes for NaN read as null and flags as numbers."""
    if isinstance(value, Mapping):
        return canonical({key: _plain(item) for key, item in value.items()})
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool):
        return int(value)
    return None if value in ("NaN", "Infinity", "-Infinity") else canonical(value)


def _short(value: Any) -> str:
    text = repr(value) if value is not None else "missing"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."
