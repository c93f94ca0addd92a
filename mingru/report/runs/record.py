"""One started run, the same whatever source it came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ENDED = ("finished", "diverged")
EXACT = 2**53


class RunsError(Exception):
    """A source that cannot be read at all; the message is one line for the user."""


@dataclass(frozen=True)
class Run:
    """What a run wrote at its start and at its end.

    `values` holds the keys of started.json and result.json, the later one winning. `status` is finished, diverged,
    failed (it raised) or missing (it started and left no result: killed, or still running). `origin` names the folder
    or the W&B run. `problem` says in one line what could not be read.
    """

    values: Mapping[str, Any]
    status: str
    origin: str
    failure: str | None = None
    problem: str | None = None


@dataclass
class Source:
    """The runs of one source, and one line for each thing there that is not a run of ours."""

    name: str
    runs: list[Run]
    notes: list[str] = field(default_factory=list)


def from_parts(started: Mapping[str, Any], outcome: Mapping[str, Any], origin: str, problem: str | None = None) -> Run:
    """Join the two halves of a run. A run without a known outcome is missing."""
    status = outcome.get("status")
    failure = outcome.get("failure")
    if status not in (*ENDED, "failed"):
        if status is not None:
            problem = problem or f"{origin}: unknown status {status!r}"
        status = "missing"
    return Run({**started, **outcome}, status, origin, str(failure) if failure is not None else None, problem)


def number(value: Any) -> float | None:
    """A finite number, or None for everything else: null, NaN, the string "NaN", text."""
    if type(value) is not float:
        if value is None or isinstance(value, (dict, list)):
            return None
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    return value if math.isfinite(value) else None


def whole(value: Any) -> int | None:
    """A whole number that a float holds exactly, or None."""
    if type(value) is int:
        return value if abs(value) < EXACT else None
    result = number(value)
    return int(result) if result is not None and abs(result) < EXACT and result.is_integer() else None


def truth(value: Any) -> bool | None:
    """A flag that a source may give as true, 1, 1.0 or "true"; None when it is unknown."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    result = number(value)
    return None if result is None else bool(result)


def by_length(value: Any) -> dict[int, float]:
    """{"64": .99} as {64: .99} in numeric order, without the lengths whose number is not finite."""
    pairs = ((whole(length), number(score)) for length, score in as_dict(value).items())
    return dict(sorted((length, score) for length, score in pairs if length is not None and score is not None))


def as_dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, (dict, Mapping)) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else list(value) if isinstance(value, tuple) else []
