"""Rows as Markdown, as one line for the terminal, and as JSON; and the place in docs/performance.md where they stand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scripts.benchmarks.row import Row

HEADER = ("measure", "median", "spread", "n", "times", "threads", "reach", "")
BEGIN, END = "<!-- scripts/bench.py: begin -->", "<!-- scripts/bench.py: end -->"


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{number(seconds * scale)} {unit}"
    return f"{number(seconds * 1e6)} µs"


def verdict(row: Row) -> str:
    return {True: "reached", False: "not reached", None: ""}[row.reached]


def cells(row: Row) -> list[str]:
    reach = f"{row.reach.relation} {row.reach.value:g}" if row.reach else ""
    threads = str(row.threads or "")
    if row.median is None:
        return [row.measure, "", "", "", "", threads, reach, f"not measured: {row.note}"]
    unit = f" {row.unit}" if row.unit else ""
    spread = f"{number(min(row.values))} to {number(max(row.values))}"
    times = " / ".join(map(duration, row.seconds)) if row.seconds else ""
    return [row.measure, number(row.median) + unit, spread, str(len(row.values)), times, threads, reach, verdict(row)]


def line(row: Row) -> str:
    measure, median, spread, pairs, _, _, reach, said = cells(row)
    if row.median is None:
        return f"{measure}: {said}"
    wanted = f", {reach}: {said}" if reach else ""
    return f"{measure}: {median} ({spread}, n={pairs}{wanted})"


def grid(rows: Iterable[Row]) -> str:
    lines = [HEADER, ["---"] * len(HEADER), *map(cells, rows)]
    return "\n".join("| " + " | ".join(each) + " |" for each in lines)


def markdown(rows: Sequence[Row], machine: dict[str, Any], peers: dict[str, str], quick: bool) -> str:
    """First the rows that have something to reach, then the others."""
    wanted, others = [row for row in rows if row.reach], [row for row in rows if not row.reach]
    parts = [f"{key}: {value}" for key, value in machine.items() if value is not None]
    text = ["; ".join(parts) + "."]
    if quick:
        text.insert(0, "**Made with --quick: tiny shapes that show that everything runs. No measurement.**")
    if peers:
        text.append("Peers: " + ", ".join(f"{name} {version}" for name, version in sorted(peers.items())) + ".")
    if wanted:
        reached = sum(row.reached is True for row in wanted)
        text += [f"### To reach: {reached} of {len(wanted)} rows do", grid(wanted)]
    if others:
        text += ["### Beside them", grid(others)]
    return "\n\n".join(text) + "\n"


def record(rows: Sequence[Row], machine: dict[str, Any], peers: dict[str, str], quick: bool) -> str:
    everything = {"machine": machine, "peers": peers, "quick": quick, "rows": [row.record() for row in rows]}
    return json.dumps(everything, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def put_into(document: Path, text: str) -> None:
    """Replace what stands between the two marks. ValueError where they are not both there, once and in order."""
    whole = document.read_text(encoding="utf-8")
    before, begin, rest = whole.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{document}: wanted the marks {BEGIN} and {END}, in this order")
    document.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
