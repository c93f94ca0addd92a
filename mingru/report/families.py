"""Families: the cells that are compared with each other, and what they share."""

from __future__ import annotations

import difflib
import json
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from mingru.report import cells
from mingru.report.frame import FAMILY
from mingru.report.runs.record import as_dict, number

# What is reported of single runs, beside their listing.
OF_A_RUN = [
    *("seed", "status", "fit", "fit_selected", "measure", "selected", "fresh", "last", "steps", "steps_to_fit", "scores", "tracks_to"),
    *("validation", "position_scores", "stop", "exact"),
]


@dataclass(frozen=True)
class Family:
    """Cells of one task, length, protocol and stratum, the best fit rate first.

    `protocol_name` and `stratum_name` are empty while the report knows only one. `baseline` is a cell's label, or None
    for all pairs; `baseline_missing` says that one was asked for and has no cell here. `runs` are the counted runs of each
    label in the order of their seeds. `sequential` are the labels of cells whose sweep was told to stop when significant.
    """

    title: str
    task: str
    length: int
    measure: str
    fit_rule: str
    protocol_name: str
    protocol_text: str
    stratum_name: str
    stratum_text: str
    cells: pd.DataFrame
    baseline: str | None
    baseline_missing: bool
    bar: float | None
    runs: dict[str, pd.DataFrame]
    sequential: tuple[str, ...]

    @cached_property
    def each(self) -> list[Any]:
        """The cells, one named tuple each."""
        return list(self.cells.itertuples())


def families(rates: pd.DataFrame, runs: pd.DataFrame, baseline: str | None = None) -> list[Family]:
    """The table of cells cut into families.

    Raises ValueError when `baseline` names no cell at all, or several of one family.
    """
    protocols = _named(rates["protocol"], string.ascii_uppercase)
    strata = _named(rates["stratum"], [str(i) for i in range(1, 27)])
    tasks = _task_labels(rates)
    # sorted by seed within a cell
    known = runs[OF_A_RUN]
    found = []
    for key, group in rates.groupby(FAMILY, sort=True, dropna=False):
        task, settings, length, protocol, stratum = key
        group = group.sort_values(["rate", "label"], ascending=[False, True], na_position="last")
        base = _baseline(list(group["label"]), list(group["mixer"]), baseline)
        notes = [f"{kind} {name}" for kind, name in (("protocol", protocols[protocol]), ("stratum", strata[stratum])) if name]
        title = f"{tasks[task, settings]} at length {length}" + (f" ({', '.join(notes)})" if notes else "")
        shared = json.loads(protocol)
        measure = group.iloc[0]["measure"]
        members = {cell.label: known.loc[cell.members] for cell in group.itertuples()}
        found.append(
            Family(
                title=title,
                task=task,
                length=length,
                measure=measure,
                fit_rule=fit_rule(shared, measure),
                protocol_name=protocols[protocol],
                protocol_text=protocol_text(shared),
                stratum_name=strata[stratum],
                stratum_text=stratum,
                cells=group,
                baseline=base,
                baseline_missing=baseline is not None and base is None,
                bar=bar_of(shared),
                runs=members,
                sequential=tuple(label for label, member in members.items() if (member["stop"] == "significant").any()),
            )
        )
    if found and baseline is not None and all(family.baseline_missing for family in found):
        raise ValueError(f"--baseline {baseline}: {_nearest(baseline, rates)}")
    return found


def _named(column: pd.Series, names: Sequence[str]) -> dict[str, str]:
    """A short name for each value, and none while there is only one value."""
    values = sorted(column.unique())
    if len(values) == 1:
        return {values[0]: ""}
    return {value: names[i] if i < len(names) else f"{names[i % len(names)]}{i // len(names)}" for i, value in enumerate(values)}


def _task_labels(rates: pd.DataFrame) -> dict[tuple[str, str], str]:
    kinds = sorted(set(zip(rates["task"], rates["task_settings"], strict=True)))
    settings = [cells.flat(json.loads(settings)) for _, settings in kinds]
    named = cells.labels([task for task, _ in kinds], settings, [str(i + 1) for i in range(len(kinds))])
    return dict(zip(kinds, named, strict=True))


def _baseline(labels: list[str], mixers: list[str], baseline: str | None) -> str | None:
    if baseline is None or baseline in labels:
        return baseline
    matching = [label for label, mixer in zip(labels, mixers, strict=True) if mixer == baseline]
    if len(matching) > 1:
        raise ValueError(f"--baseline {baseline}: names {len(matching)} cells; name one of: {'; '.join(matching)}")
    return matching[0] if matching else None


def _nearest(baseline: str, rates: pd.DataFrame) -> str:
    names = sorted({*rates["mixer"], *rates["label"]})
    near = difflib.get_close_matches(baseline, names, n=1)
    return "no such mixer among the runs" + (f" (did you mean {near[0]}?)" if near else "") + f"; there are: {', '.join(names)}"


def bar_of(protocol: Mapping[str, Any]) -> float | None:
    return number(as_dict(protocol.get("evaluation")).get("bar"))


def fit_rule(protocol: Mapping[str, Any], measure: str) -> str:
    """The rule in words, with the numbers of this protocol."""
    evaluation, bar = as_dict(protocol.get("evaluation")), bar_of(protocol)
    at = f"length {evaluation['select_length']}" if "select_length" in evaluation else "the select length"
    side = "at or below" if measure == "error" else "at or above"
    bar = "the task's bar" if bar is None else f"{bar:g}"
    return f"fresh {measure} at {at} {side} {bar}, measured once on new sequences with the checkpoint that validation selected"


def protocol_text(protocol: Mapping[str, Any]) -> str:
    """Every setting outside task, stack and length, those that people ask for first."""
    settings = cells.flat(dict(protocol))
    for recipe in ("curriculum", "schedule"):
        target = as_dict(protocol.get(recipe)).get("_target_")
        if target is not None:
            settings[recipe] = str(target).rpartition(".")[2]
    asked = ("steps", "batch_size", "lr", "schedule", "clip", "train_sequences", "curriculum")
    first = [key for key in asked if key in settings]
    return ", ".join(f"{key} {cells.spelled(settings[key])}" for key in [*first, *(key for key in settings if key not in first)])
