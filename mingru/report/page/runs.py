"""Every started run, for the page: what it was, how it ended, its config, its log, what made it."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pandas as pd

from mingru.report.families import Family
from mingru.report.frame import CELL
from mingru.report.numbers import fraction
from mingru.report.runs.record import as_dict

LOG = "train.log"
LOG_TAIL = 3_000
# Beyond so many runs the log of a run that ended well stays in its folder.
MOST_LOGS = 500
PROVENANCE = ("cell", "code", "commit", "dirty", "device", "threads", "versions")
HEADERS = ["task", "mixer", "length", "seed", "attempt", "ended", "fit", "fresh", "step", "steps to fit", "longest", "seconds"]


class Shared:
    """Texts that many runs share, each kept once and known by its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, text: Callable[[], str]) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.texts)
            self.texts.append(text())
        return self._numbers[key]


def listing(runs: pd.DataFrame, families: list[Family]) -> dict[str, Any]:
    """The runs as data that the page's script turns into rows.

    Of each run: the cells of its row, the number of its config, that of its provenance, what else is known of it, its log.
    """
    labels = {tuple(getattr(cell, key) for key in CELL): cell.label for family in families for cell in family.each}
    configs, provenances = Shared(), Shared()
    every_log = len(runs) <= MOST_LOGS
    rows = []
    for run in runs.itertuples():
        wanted = every_log or run.status in ("failed", "missing", "diverged")
        rows.append(
            [
                _cells(run, labels.get(tuple(getattr(run, key) for key in CELL), run.mixer)),
                configs.number((run.task_settings, run.length, run.protocol, run.arm), lambda run=run: _config(run)),
                provenances.number(tuple(str(run.values.get(name)) for name in PROVENANCE), lambda run=run: _provenance(run)),
                _facts(run),
                _log(Path(run.origin)) if wanted else "",
            ]
        )
    return {"headers": HEADERS, "rows": rows, "configs": configs.texts, "provenances": provenances.texts}


def _cells(run: Any, label: str) -> list[str]:
    longest = run.scores[max(run.scores)] if run.scores else None
    ended = "superseded" if run.superseded else run.status
    fit = "-" if run.status in ("failed", "missing") else "yes" if run.fit else "no"
    counts = (_text(value) for value in (run.length, run.seed, run.attempt))
    steps = (_text(run.selected_step), _text(run.steps_to_fit))
    return [run.task, label, *counts, ended, fit, fraction(run.fresh), *steps, fraction(longest), _text(run.seconds)]


def _config(run: Any) -> str:
    """Seed and outputs aside, which the row and the origin tell, the runs of a cell have one config."""
    shared = {key: value for key, value in as_dict(run.values.get("config")).items() if key not in ("seed", "outputs")}
    return json.dumps(shared, indent=1, default=str)


def _provenance(run: Any) -> str:
    known = [f"{name}: {json.dumps(run.values[name], default=str)}" for name in PROVENANCE if name in run.values]
    sizes = [f"{name}: {_text(getattr(run, name))}" for name in ("parameters", "composer_parameters", "state_size")]
    return "\n".join([*known, *sizes])


def _facts(run: Any) -> str:
    found = (("from", run.origin), ("started at", run.started_at), ("failure", run.failure), ("problem", run.problem))
    return "\n".join(f"{name}: {value}" for name, value in found if isinstance(value, str) and value)


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
