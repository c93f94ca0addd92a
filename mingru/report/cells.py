"""Which runs belong together: cells, what they share, and names that tell them apart.

A cell is one stack on one task at one length under one protocol. Cells are compared within a family: the same task,
length, protocol and stratum. The stack is the layers and their width; the protocol is all else in a cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

from mingru.report.runs.record import Run, as_dict, as_list
from mingru.sweep.cell import OUTSIDE, canonical

STACK = ("stack", "layers", "d_model", "mlp_expansion")
UNKNOWN = "unknown"
EXPONENT_AS_TEXT = re.compile(r'"(-?(?:0|[1-9]\d*)(?:\.\d+)?[eE][+-]?\d+)"(?!:)')
# two of them and a verdict fill 120 columns
LONGEST_LABEL = 24


def text(value: Any) -> str:
    """One string for one setting, whatever its spelling: 1e-3 and 0.001, a list and a tuple, null and absent.

    YAML 1.1 reads 1e-3 as a string, so a string in that notation is a number too.
    """
    return _text(json.dumps(value, sort_keys=True, default=str))


@lru_cache(maxsize=65_536)
def _text(spelling: str) -> str:
    spelling = EXPONENT_AS_TEXT.sub(r"\1", spelling)
    return json.dumps(canonical(json.loads(spelling, parse_constant=lambda _: None)), sort_keys=True)


def layers_of(run: Run) -> list[Mapping[str, Any]]:
    return [layer for layer in as_list(run.values.get("layers")) if isinstance(layer, Mapping)]


def settings_of(run: Run) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The run's config in three parts: the task's settings, the stack, the protocol."""
    config = as_dict(run.values.get("config"))
    task = as_dict(config.get("task"))
    stack = {key: config[key] for key in STACK[2:] if key in config}
    outside = {*OUTSIDE, *STACK, "task", "length"}
    protocol = {key: value for key, value in config.items() if key not in outside}
    protocol.setdefault("steps", run.values.get("steps"))
    return dict(task), {"layers": layers_of(run), **stack}, protocol


def stratum_of(run: Run) -> str:
    """Runs are comparable within one code, one minor version of torch and one kind of device."""
    torch = as_dict(run.values.get("versions")).get("torch")
    minor = ".".join(str(torch).split("+")[0].split(".")[:2]) if torch else UNKNOWN
    code, device = (run.values.get(key) or UNKNOWN for key in ("code", "device"))
    return f"code {code}, torch {minor}, {device}"


def stack_name(layers: Iterable[Mapping[str, Any]]) -> str:
    """`signed+givens`, `signed+givens x3`."""
    names = groupby(str(layer.get("mixer", "?")) for layer in layers)
    counted = [(name, len(list(same))) for name, same in names]
    return "+".join(name if n == 1 else f"{name} x{n}" for name, n in counted) or "?"


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """{"evaluation": {"bar": .99}} as {"evaluation.bar": .99}; lists of settings by their position."""
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items() if key != "_target_"]
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        items = [(str(position), item) for position, item in enumerate(value)]
    else:
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, item in items:
        found |= flat(item, f"{prefix}.{key}" if prefix else key)
    return found


def spelled(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "/".join(spelled(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else json.dumps(value, default=str)


def differences(names: Sequence[str], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each, the settings in which those of the same name differ: `block_size=4, d_model=128`."""
    found = [""] * len(names)
    for name in set(names):
        same = [i for i, other in enumerate(names) if other == name]
        keys = dict.fromkeys(key for i in same for key in settings[i])
        differing = [key for key in keys if len({text({key: settings[i].get(key)}) for i in same}) > 1]
        for i in same:
            found[i] = ", ".join(f"{key}={spelled(settings[i][key])}" for key in differing if key in settings[i])
    return found


def labels(names: Sequence[str], settings: Sequence[Mapping[str, Any]], hashes: Sequence[str]) -> list[str]:
    """A short label for each: its name, and the settings in which those of the same name differ.

    Those that no visible setting tells apart, and labels that grow too long, take the hash instead.
    """
    named = [f"{name} {part}".strip() for name, part in zip(names, differences(names, settings), strict=True)]
    crowded = {label for label in named if named.count(label) > 1 or len(label) > LONGEST_LABEL}
    hashed = [f"{names[i]} #{hashes[i]}" if label in crowded else label for i, label in enumerate(named)]
    # one hash for two settings: a record was changed by hand
    again = [hashed[:i].count(label) for i, label in enumerate(hashed)]
    return [f"{label} ({count + 1})" if count else label for label, count in zip(hashed, again, strict=True)]


def stack_settings(stack: Mapping[str, Any]) -> dict[str, Any]:
    """A stack's settings by the mixer's name rather than the layer's position, so that a deeper stack shares its keys."""
    layers = as_list(stack.get("layers"))
    found: dict[str, Any] = {"layers": stack_name(layers)}
    for layer in reversed(layers):
        prefix = "" if layer is layers[-1] else f"{layer.get('mixer', '?')}."
        for key, value in flat({key: value for key, value in layer.items() if key != "mixer"}).items():
            found.setdefault(f"{prefix}{key}", value)
    return found | {key: value for key, value in stack.items() if key != "layers"}
