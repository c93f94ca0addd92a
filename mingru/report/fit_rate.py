"""Counts and means per cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from mingru.report import cells
from mingru.report.frame import CELL, FAMILY
from mingru.report.intervals import clopper_pearson, wilson
from mingru.report.runs.record import ENDED
from mingru.report.scores import mean_by_length

COUNTING = (
    "n = finished + diverged. A diverged run is a non-fit. Failed runs (they raised) and missing runs (started, no result: killed, "
    "unreadable or still running) stand in their own columns and are not in n. Where a cell, seed and stratum was run more than once, "
    "the highest attempt counts (among equal ones the last started); the others are superseded."
)


def fit_rates(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per cell: who it is, how many runs of each kind, fits, the intervals, mean scores by length.

    `scores` and `fit_scores` map a test length to the mean over all counted runs and over the fitting ones; `scored` and
    `fit_scored` count the runs behind them. `members` are the rows of the counted runs, `running` the first seed without
    an outcome.
    """
    rows = [_cell(key, group) for key, group in runs.groupby(CELL, sort=True, dropna=False)]
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
    current = group[~group["superseded"]]
    counted = current[current["status"].isin(ENDED)]
    fitting = counted[counted["fit"]]
    status = Counter(current["status"])
    scores, scored = mean_by_length(counted["scores"])
    fit_scores, fit_scored = mean_by_length(fitting["scores"])
    return {
        **dict(zip(CELL, key, strict=True)),
        "mixer": group["mixer"].iat[0],
        "stack": group["stack"].iat[0],
        "stack_settings": group["stack_settings"].iat[0],
        "measure": group["measure"].iat[0],
        "n": len(counted),
        "fits": len(fitting),
        "rate": len(fitting) / len(counted) if len(counted) else np.nan,
        **{kind: status[kind] for kind in (*ENDED, "failed", "missing")},
        "superseded": int(group["superseded"].sum()),
        "members": counted.index,
        "running": current.loc[current["status"] == "missing", "seed"].min(),
        "scores": scores,
        "scored": scored,
        "fit_scores": fit_scores,
        "fit_scored": fit_scored,
        "chance": _first(counted["chance"]),
        "constant": _first(counted["constant"]),
        "parameters": _first(counted["parameters"]),
        "state_size": _first(counted["state_size"]),
        "seconds": counted["seconds"].median(),
    }


def _first(column: pd.Series) -> Any:
    """The value all runs of the cell share, from the first that has it."""
    for value in column:
        if isinstance(value, Mapping):
            if value:
                return value
        elif value is not None and value == value:
            return value
    return {} if column.name in ("chance", "constant") else None
