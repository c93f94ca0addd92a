"""A cell: everything that can change a number, and nothing else.

Runs of one cell differ only in their seed. `cell` is the one place that says what is inside; a key unknown to it is inside, so a new
option splits cells unless it stands at its off value (null or false), which reads the same as its absence in an older record.
"""

import hashlib
import json
import math
import re
from typing import Any

# Where, how and how often, not what. The device is a stratum of the report. `stack` holds every layer, so `mixer`, `extractor`
# and `depth`, which only name them, are outside as well.
OUTSIDE = frozenset(
    "seed outputs published device logger threads workers display rerun fail_fast stop experiment hydra mixer extractor depth".split()
)


def cell(config: dict[str, Any]) -> dict[str, Any]:
    """The part of a resolved config that identifies its cell, with each value in one canonical form."""
    inside = {key: value for key, value in config.items() if key not in OUTSIDE}
    inside["layers"] = [without_class(layer) for layer in inside.pop("stack")]
    inside["task"] = without_class(inside["task"])
    return canonical(inside)


def without_class(node: dict[str, Any]) -> dict[str, Any]:
    """A task or mixer is known by its name and settings, so that moving its class to another module keeps the cell."""
    return {key: value for key, value in node.items() if key != "_target_"}


def canonical(value: Any) -> Any:
    """1e-3 and 0.001, 8 and 8.0, tuples and lists are one value; null, NaN, infinity and false are left out of mappings."""
    if isinstance(value, dict):
        pairs = ((str(key), canonical(item)) for key, item in sorted(value.items()))
        return {key: item for key, item in pairs if item is not None and item is not False}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    return value


def cell_hash(config: dict[str, Any]) -> str:
    """Eight hexadecimal digits that name the cell of a resolved config."""
    text = json.dumps(cell(config), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def slug(config: dict[str, Any]) -> str:
    """The stack in at most 40 characters, legal in a file name on every system."""
    names = "-".join(layer["mixer"] for layer in config["stack"])
    return re.sub(r"[^A-Za-z0-9_.-]", "_", names)[:40].rstrip(".")
