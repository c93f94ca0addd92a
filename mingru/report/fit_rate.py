"""Counts and means per cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from mingru.report import cells
from mingru.report.frame import CELL, FAMILY
from mingru.report.intervals import clopper_pearson

COUNTING = (
    "n = finished + diverged. A diverged run is a non-fit. Failed runs (they raised) and missing runs (started, no result: killed, "
    "unreadable or still running) stand in their own columns and are not in n. Where a cell, seed and stratum was run more than once, "
    "the highest attempt counts (among equal ones the last started); the others are superseded."
)


def fit_rates(runs: pd.DataFrame) -> pd.DataFrame:
    """One row per cell: who it is, how many runs of each kind, fits, the exact interval, mean scores by length.

    `scores` and `fit_scores` map a test length to the mean over all counted runs and over the fitting ones;
    `scored` and `fit_scored` count the runs behind them.
    """
    rows = [_cell(key, group) for key, group in runs.groupby(CELL, sort=True, dropna=False)]
    table = pd.DataFrame(rows, columns=None if rows else [*CELL, "n", "fits"])
    if rows:
        table["low"], table["high"] = clopper_pearson(table["fits"], table["n"])
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
    counted = current[current["status"].isin(["finished", "diverged"])]
    fitting = counted[counted["fit"]]
    status = current["status"].value_counts()
    known = group.iloc[0]
    scores, scored = mean_by_length(counted["scores"])
    fit_scores, fit_scored = mean_by_length(fitting["scores"])
    return {
        **dict(zip(CELL, key, strict=True)),
        "stack": known["stack"],
        "stack_settings": known["stack_settings"],
        "measure": known["measure"],
        "n": len(counted),
        "fits": len(fitting),
        "rate": len(fitting) / len(counted) if len(counted) else np.nan,
        **{kind: int(status.get(kind, 0)) for kind in ("finished", "diverged", "failed", "missing")},
        "superseded": int(group["superseded"].sum()),
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


def mean_by_length(scores: pd.Series) -> tuple[dict[int, float], dict[int, int]]:
    """Mean score of each length and how many runs have one; a diverged run may have none."""
    table = pd.DataFrame(list(scores)) if len(scores) else pd.DataFrame()
    lengths = sorted(table.columns)
    return {n: float(table[n].mean()) for n in lengths}, {n: int(table[n].count()) for n in lengths}


def _first(column: pd.Series) -> Any:
    """The value all runs of the cell share, from the first that has it."""
    for value in column:
        if isinstance(value, Mapping):
            if value:
                return value
        elif value is not None and value == value:
            return value
    return {} if column.name in ("chance", "constant") else None
