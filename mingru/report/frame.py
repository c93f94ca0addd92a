"""Runs as one pandas table, a row per started run, with the cell it belongs to and whether it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from mingru.report import cells
from mingru.report.runs.record import Run, as_dict, as_list, by_length, number, truth, whole

FAMILY = ["task", "task_settings", "length", "protocol", "stratum"]
# `mixer` and `extractor` only name the layers, which stand in `arm`
CELL = [*FAMILY, "arm", "cell"]
POOLED = "all strata pooled"
# A run tracks to a length when more than this share of its answers is right there.
TRACKS = 0.9


def tabulate(runs: list[Run], pool: bool = False) -> pd.DataFrame:
    """One row per started run. `pool` puts all strata into one.

    Of several runs with the same cell, seed and stratum, the one with the highest attempt counts; among equal attempts
    the one that started last, then the one that ended. The others have `superseded` set.
    """
    rows = [_row(run, pool) for run in runs]
    _place_lost(rows)
    frame = pd.DataFrame(rows, columns=list(_row(Run({}, "missing", ""), pool)))
    frame["seed"] = frame["seed"].astype("Int64")
    frame["cell"] = frame["cell"].replace(_same_settings(frame))
    return _mark_superseded(frame)


def _row(run: Run, pool: bool) -> dict[str, Any]:
    values = run.values
    task, stack, protocol = cells.settings_of(run)
    selection = as_dict(values.get("selection"))
    measure = "error" if isinstance(values.get("error"), dict) or "error" in selection else "accuracy"
    validation = as_list(values.get("validation"))
    fit = truth(values.get("fit"))
    ended = run.status == "finished"
    return {
        "origin": run.origin,
        "task": str(values.get("task") or cells.UNKNOWN),
        "mixer": str(values.get("mixer") or cells.UNKNOWN),
        "extractor": str(values.get("extractor") or "none"),
        "length": whole(values.get("length")) or 0,
        "seed": whole(values.get("seed")),
        "attempt": whole(values.get("attempt")) or 1,
        "cell": str(values.get("cell") or ""),
        "task_settings": cells.text(task),
        "arm": cells.text(stack),
        "protocol": cells.text(protocol),
        "stratum": POOLED if pool else cells.stratum_of(run),
        "stack": cells.stack_name(cells.layers_of(run)),
        "stack_settings": stack,
        "status": run.status,
        # a diverged run is a non-fit, and so is a finished one whose measure was not a number
        "fit": ended and bool(fit),
        "fit_selected": ended and bool(truth(values.get("fit_selected"))),
        "measure": measure,
        "selected_step": whole(selection.get("step")),
        "selected": number(selection.get(measure)),
        "fresh": number(selection.get(f"fresh_{measure}")),
        "last": number(as_dict(validation[-1]).get(measure)) if validation else None,
        "steps": whole(values.get("steps")),
        "steps_to_fit": whole(values.get("steps_to_fit")),
        "scores": by_length(values.get(measure)),
        "tracks_to": _tracks_to(values) if measure == "accuracy" else None,
        "exact": _exact(as_dict(values.get("exactness"))),
        "chance": as_dict(values.get("chance")),
        "constant": as_dict(values.get("constant")),
        "validation": validation,
        "position_scores": as_list(values.get("position_accuracy")),
        "parameters": whole(values.get("parameters")),
        "composer_parameters": whole(values.get("composer_parameters")),
        "state_size": whole(values.get("state_size")),
        "seconds": number(values.get("seconds")),
        "stop": as_dict(values.get("config")).get("stop"),
        "started_at": str(values.get("started_at") or ""),
        "failure": run.failure,
        "problem": run.problem,
        "values": values,
    }


def _tracks_to(values: Mapping[str, Any]) -> int:
    """The longest of all lengths measured at which the run tracks; 0 without one."""
    measured = by_length(values.get("accuracy")) | by_length(values.get("accuracy_by_length"))
    return max((length for length, accuracy in measured.items() if accuracy > TRACKS), default=0)


def _exact(exactness: Mapping[str, Any]) -> dict[int, bool]:
    """Whether the run is exact, by the lengths at which that was measured."""
    lengths = [whole(length) for length in as_dict(exactness.get("measured"))]
    return {length: length in as_list(exactness.get("exact_at")) for length in sorted(filter(None, lengths))}


def _place_lost(rows: list[dict[str, Any]]) -> None:
    """A run whose own record is unreadable still has its folder's cell: take the rest from another run of that cell."""
    whole_rows = {row["cell"]: row for row in rows if row["mixer"] != cells.UNKNOWN}
    for row in rows:
        twin = whole_rows.get(row["cell"])
        if row["mixer"] == cells.UNKNOWN and twin:
            row |= {key: twin[key] for key in (*CELL, "mixer", "extractor", "stack", "stack_settings", "steps", "measure")}


def _same_settings(frame: pd.DataFrame) -> dict[str, str]:
    """Hashes of cells whose settings are the same once 1e-3 and 0.001 are: they are one cell."""
    # a record without a config shows too little to be sure
    content = frame[[bool(values.get("config")) for values in frame["values"]]].drop_duplicates("cell")
    first: dict[tuple[Any, ...], str] = {}
    found = {}
    for row in content.sort_values("cell").itertuples():
        key = (row.task, row.task_settings, row.length, row.protocol, row.arm)
        found[row.cell] = first.setdefault(key, row.cell)
    return {cell: same for cell, same in found.items() if cell != same}


def _mark_superseded(frame: pd.DataFrame) -> pd.DataFrame:
    frame["ended"] = frame["status"].isin(["finished", "diverged"])
    ordered = frame.sort_values(["attempt", "started_at", "ended", "origin"], kind="stable")
    # a run without a seed has no double
    known = ordered["seed"].notna()
    frame["superseded"] = ordered[known].duplicated([*CELL, "seed"], keep="last").reindex(frame.index, fill_value=False)
    return frame.drop(columns="ended").sort_values([*CELL, "seed", "attempt"], kind="stable", ignore_index=True)
