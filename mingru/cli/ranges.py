"""The integer sweep keys: `seed=0-35` and `length=32-33,64` in Hydra's grammar.

`0-35` becomes `range(0,36)`; `0-3,7,10-12` becomes the plain list; a single value, a plain list and Hydra's own
`range(0,36)` stay. Values are whole numbers, each named once. The same text works in a YAML's `hydra.sweeper.params`.
"""

from __future__ import annotations

import itertools
import re

from hydra.core.override_parser.types import Override

from mingru.cli.refusal import Refusal

SWEEP_KEYS = ("seed", "length")
# What a 32-bit generator seed holds.
LARGEST = 2**32 - 1
# More than this in one sweep is a slip of the keyboard, and Hydra would list them all in memory.
MOST_VALUES = 100_000

_PARAMS = "hydra.sweeper.params."
_OVERRIDE = re.compile(rf"\+{{0,2}}(?P<params>{re.escape(_PARAMS)})?(?P<key>[^=]+)=(?P<value>.*)", re.DOTALL)
_ITEM = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def expand(override: str) -> str:
    """Rewrite one override for Hydra; that of any other key comes back as it is. Raises Refusal naming the override.

    `++seed=` is `seed=`: BasicSweeper would take the two for different keys.
    """
    match = _OVERRIDE.fullmatch(override)
    if match is None:
        return override
    if match["params"]:
        return _expand_param(override, match)
    if match["key"] not in SWEEP_KEYS:
        return override
    return f"{match['key']}={expand_value(match['value'], override)}"


def _expand_param(override: str, match: re.Match[str]) -> str:
    # `++` because the params mapping is closed, quotes because Hydra sweeps none of its own keys.
    value = match["value"]
    if match["key"] in SWEEP_KEYS:
        bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value
        value = f"'{expand_value(bare, override)}'"
    return f"++{_PARAMS}{match['key']}={value}"


def expand_value(value: str, came: str) -> str:
    """`0-3,7` -> `0,1,2,3,7`; `came` is what an error names."""
    text = value.strip()
    # Hydra's own functions, interpolations, quotes and containers are judged after Hydra has parsed them.
    if re.search(r"[({\['\"$]", text):
        return text
    if not text:
        raise Refusal(f"{came}: no value; wanted whole numbers such as 0-35 or 0-3,7")
    intervals = [_interval(item.strip(), came) for item in text.split(",")]
    _refuse_overlap(intervals, came)
    if sum(last - first + 1 for first, last in intervals) > MOST_VALUES:
        raise Refusal(f"{came}: more than {MOST_VALUES} values in one sweep")
    if len(intervals) == 1 and intervals[0][0] < intervals[0][1]:
        return f"range({intervals[0][0]},{intervals[0][1] + 1})"
    return ",".join(str(number) for first, last in intervals for number in range(first, last + 1))


def _interval(item: str, came: str) -> tuple[int, int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise Refusal(f"{came}: {_complaint(item)}")
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise Refusal(f"{came}: the range {item} runs backwards (did you mean {last}-{first}?)")
    if last > LARGEST:
        raise Refusal(f"{came}: {last} is too large; the largest is {LARGEST}")
    return first, last


def _complaint(item: str) -> str:
    if not item:
        return "an empty item in the list; wanted whole numbers such as 0-3,7"
    if re.fullmatch(r"[0-9]+-", item):
        return f"the range {item} has no end; wanted for example {item}{int(item[:-1]) + 3}"
    if re.fullmatch(r"-[0-9]+", item):
        return f"{item} is negative; wanted whole numbers from 0, or a range such as 0{item}"
    return f"{item!r} is no whole number and no range; wanted for example 0-35 or 0-3,7"


def _refuse_overlap(intervals: list[tuple[int, int]], came: str) -> None:
    reached = -1
    for first, last in sorted(intervals):
        if first <= reached:
            raise Refusal(f"{came}: names {first} twice")
        reached = max(reached, last)


def refuse_bad_values(override: Override, came: str) -> None:
    """The same rules for what Hydra's own grammar makes of a sweep key: range(5,2), choice(1,1), [0,1], 0.5."""
    if override.key_or_group not in SWEEP_KEYS or override.is_delete() or override.is_interval_sweep():
        return
    values = [override.value()]
    if override.is_sweep_override():
        values = list(itertools.islice(override.sweep_iterator(), MOST_VALUES + 1))
    if not values or len(values) > MOST_VALUES:
        raise Refusal(f"{came}: names {'more than ' + str(MOST_VALUES) if values else 'no'} values")
    seen = set()
    for value in values:
        text = getattr(value, "text", str(value))
        if "${" in text:
            continue
        if isinstance(value, bool) or not re.fullmatch(r"[0-9]+", text) or int(text) > LARGEST:
            raise Refusal(f"{came}: {text} is no whole number from 0 to {LARGEST}; wanted for example 0-35 or 0-3,7")
        if int(text) in seen:
            raise Refusal(f"{came}: names {int(text)} twice")
        seen.add(int(text))
