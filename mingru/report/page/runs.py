"""Every started run, for the page: what it was, how it ended, its config, its log, what made it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mingru.report.families import Family
from mingru.report.numbers import fraction
from mingru.report.runs.record import as_dict

LOG = "train.log"
LOG_TAIL = 3_000
# Beyond so many runs the log of a run that ended well stays in its folder.
MOST_LOGS = 500
PROVENANCE = ("code", "commit", "dirty", "device", "threads", "versions")


@dataclass(frozen=True)
class Entry:
    """One run. `cells` are the row of the table; `facts` are shown when it is opened."""

    cells: list[str]
    config: str
    facts: str
    log: str


@dataclass(frozen=True)
class Listing:
    """The runs, and for each config that several of them share its text once."""

    headers: list[str]
    entries: list[Entry]
    configs: dict[str, str]


def listing(runs: pd.DataFrame, families: list[Family]) -> Listing:
    labels = {
        (cell.task, cell.task_settings, cell.length, cell.protocol, cell.stratum, cell.arm, cell.cell): cell.label
        for family in families
        for cell in family.cells.itertuples()
    }
    configs: dict[str, str] = {}
    entries = [_entry(run, labels, configs, len(runs) <= MOST_LOGS) for run in runs.itertuples()]
    headers = ["task", "mixer", "length", "seed", "attempt", "ended", "fit", "fresh", "step", "steps to fit", "longest", "seconds"]
    return Listing(headers, entries, {name: text for text, name in configs.items()})


def _entry(run: Any, labels: dict[tuple, str], configs: dict[str, str], every_log: bool) -> Entry:
    label = labels.get((run.task, run.task_settings, run.length, run.protocol, run.stratum, run.arm, run.cell), run.mixer)
    longest = run.scores[max(run.scores)] if run.scores else None
    ended = "superseded" if run.superseded else run.status
    cells = [run.task, label, _text(run.length), _text(run.seed), _text(run.attempt), ended, "yes" if run.fit else "no"]
    cells += [fraction(run.fresh), _text(run.selected_step), _text(run.steps_to_fit), fraction(longest), _text(run.seconds)]
    if run.status in ("failed", "missing"):
        cells[6] = "-"
    # seed, outputs and the like aside, the runs of a cell have one config
    shared = {key: value for key, value in as_dict(run.values.get("config")).items() if key not in ("seed", "outputs")}
    text = json.dumps(shared, indent=1, default=str)
    name = configs.setdefault(text, f"config-{len(configs)}")
    wanted = every_log or run.status in ("failed", "missing", "diverged")
    return Entry(cells, name, "\n".join(_facts(run)), _log(Path(run.origin)) if wanted else "")


def _facts(run: Any) -> Iterator[str]:
    yield f"from: {run.origin}"
    for name in ("problem", "failure"):
        value = getattr(run, name)
        if isinstance(value, str) and value:
            yield f"{name}: {value}"
    if run.started_at:
        yield f"started at: {run.started_at}"
    yield f"cell: {run.cell}"
    for name in PROVENANCE:
        if name in run.values:
            yield f"{name}: {json.dumps(run.values[name], default=str)}"
    for name in ("parameters", "composer_parameters", "state_size"):
        yield f"{name}: {_text(getattr(run, name))}"


def _log(folder: Path) -> str:
    """The end of the run's log; nothing for runs that do not come from a folder."""
    file = folder / LOG
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - LOG_TAIL))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _text(value: Any) -> str:
    return "-" if value is None or value is pd.NA or value != value else f"{value:,.0f}"
