"""Counts and means per cell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mingru.report import cells
from mingru.report.frame import CELL, FAMILY
from mingru.report.intervals import clopper_pearson, wilson
from mingru.report.runs.record import ENDED, by_length
from mingru.report.scores import mean_by_length

COUNTING = (
    "n = finished + diverged. A diverged run is a non-fit. Failed runs (they raised) and missing runs (started, no result: killed, "
    "unreadable or still running) stand in their own columns and are not in n. Where a cell, seed and stratum was run more than once, "
    "the highest attempt counts (among equal ones the last started); the others are superseded."
)
# What a cell's row is made of.
OF_A_RUN = [
    *("mixer", "stack", "stack_settings", "measure", "seed", "status", "fit", "superseded", "scores", "chance", "constant"),
    *("parameters", "composer_parameters", "state_size", "seconds"),
]


def fit_rates(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per cell: who it is, how many runs of each kind, fits, the intervals, mean scores by length.

    `scores` and `fit_scores` map a test length to the mean over all counted runs and over the fitting ones; `scored` and
    `fit_scored` count the runs behind them. `members` are the rows of the counted runs, `running` the first seed without
    an outcome.
    """
    rows = [_cell(key, group) for key, group in runs[[*CELL, *OF_A_RUN]].groupby(CELL, sort=True, dropna=False)]
    table = pd.DataFrame(rows, columns=None if rows else [*CELL, "mixer", "n", "fits"])
    if rows:
        table["low"], table["high"] = clopper_pearson(table["fits"], table["n"])
        table["wilson_low"], table["wilson_high"] = wilson(table["fits"], table["n"])
        _name(table)
    return table


def _name(table: pd.DataFrame) -> None:
    """Give each cell a label that is unique in its family, and say in what it differs from others of its mixer."""
    table["label"] = table["differences"] = ""
    for _, family in table.groupby(FAMILY, dropna=False):
        mixers = list(family["mixer"])
        settings = [cells.stack_settings(stack) for stack in family["stack_settings"]]
        table.loc[family.index, "label"] = cells.labels(mixers, settings, list(family["cell"]))
        table.loc[family.index, "differences"] = cells.differences(mixers, settings)


def _cell(key: tuple[Any, ...], group: pd.DataFrame) -> dict[str, Any]:
    runs = {name: group[name].to_numpy() for name in OF_A_RUN}
    current = ~runs["superseded"]
    counted = current & np.isin(runs["status"], ENDED)
    fitting = counted & runs["fit"]
    n, fits = int(counted.sum()), int(fitting.sum())
    status = Counter(runs["status"][current])
    scores, scored = mean_by_length(runs["scores"][counted])
    fit_scores, fit_scored = mean_by_length(runs["scores"][fitting])
    return {
        **dict(zip(CELL, key, strict=True)),
        **{name: runs[name][0] for name in ("mixer", "stack", "stack_settings", "measure")},
        "n": n,
        "fits": fits,
        "rate": fits / n if n else np.nan,
        **{kind: status[kind] for kind in (*ENDED, "failed", "missing")},
        "superseded": int((~current).sum()),
        "members": group.index[counted],
        "running": min((seed for seed in runs["seed"][current & (runs["status"] == "missing")] if seed is not pd.NA), default=None),
        "scores": scores,
        "scored": scored,
        "fit_scores": fit_scores,
        "fit_scored": fit_scored,
        "chance": by_length(_first(runs["chance"][counted])),
        "constant": by_length(_first(runs["constant"][counted])),
        "parameters": _first(runs["parameters"][counted]),
        "composer_parameters": _first(runs["composer_parameters"][counted]),
        "state_size": _first(runs["state_size"][counted]),
        "seconds": _median(runs["seconds"][counted]),
    }


def _first(column: NDArray) -> Any:
    """The value all runs of the cell share, from the first that has it."""
    return next((value for value in column if value is not None and value == value and value != {}), None)


def _median(column: NDArray) -> float:
    known = [value for value in column if value is not None and value == value]
    return float(np.median(known)) if known else np.nan
