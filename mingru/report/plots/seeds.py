"""Pictures of seeds: steps to fit, accuracy by position, validation curves."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mingru.report.families import Family
from mingru.report.plots.style import COLOURS, GREY, figure, legend, marks, styled
from mingru.report.runs.record import as_dict, number
from mingru.report.steps_to_fit import kaplan_meier

ACROSS = 3


def pictures(family: Family) -> Iterator[tuple[str, str, Figure]]:
    curves = {label: kaplan_meier(runs) for label, runs in family.runs.items()}
    if any(curve.events for curve in curves.values()):
        yield "steps_to_fit", "Share of runs that have reached the bar by each step (Kaplan-Meier).", steps_to_fit(family, curves)
    positions = {label: mean_by_position(runs["position_scores"]) for label, runs in family.runs.items()}
    if any(len(values) for values in positions.values()):
        caption = "Mean accuracy by position at the longest test length."
        yield "positions", caption, by_position(family, positions)
    validated = {label: runs for label, runs in family.runs.items() if runs["validation"].map(len).any()}
    if validated:
        caption = f"Validation {family.measure} of every seed: solid where the run fits, dashed where it does not; dotted: the bar."
        yield "validation", caption, validation(family, validated)


@styled
def steps_to_fit(family: Family, curves: dict) -> Figure:
    drawing, (axes,) = figure(3.2)
    last = max(int(runs["steps"].max()) for runs in family.runs.values() if len(runs) and runs["steps"].notna().any())
    known = {label: curve for label, curve in curves.items() if curve.n}
    for (label, curve), mark in zip(known.items(), marks(len(known)), strict=True):
        steps, fitted = [0, *curve.steps, last], [0.0, *(1 - curve.unfitted)]
        axes.step(steps, [*fitted, fitted[-1]], where="post", label=label, color=mark["color"], linestyle=mark["linestyle"])
    axes.set(xlabel="step", ylabel="share at the bar", ylim=(-0.02, 1.02), xlim=(0, last))
    legend(axes, len(known))
    return drawing


def mean_by_position(scores: pd.Series) -> NDArray:
    """Mean over the runs that have as many windows as the most common number; empty without any."""
    known = [np.array([number(value) for value in run], dtype=float) for run in scores if run]
    if not known:
        return np.array([])
    windows = pd.Series([len(run) for run in known]).mode()[0]
    with np.errstate(invalid="ignore"):
        return np.mean([run for run in known if len(run) == windows], axis=0)


@styled
def by_position(family: Family, positions: dict[str, NDArray]) -> Figure:
    drawing, (axes,) = figure(3.2)
    known = {label: values for label, values in positions.items() if len(values)}
    longest = max((n for scores in family.cells["scores"] for n in scores), default=family.length)
    for (label, values), mark in zip(known.items(), marks(len(known)), strict=True):
        edges = (np.arange(len(values)) + 0.5) * longest / len(values)
        axes.plot(edges, values, label=label, color=mark["color"], linestyle=mark["linestyle"])
    axes.axvline(family.length, color=GREY, linewidth=0.8)
    axes.set(xlabel="position", ylabel="accuracy", ylim=(0, 1.02), xlim=(0, longest))
    legend(axes, len(known))
    return drawing


@styled
def validation(family: Family, cells: dict[str, pd.DataFrame]) -> Figure:
    rows = ceil(len(cells) / ACROSS)
    drawing, panels = figure(0.5 + 1.6 * rows, rows, min(ACROSS, len(cells)), share=True)
    for axes, (label, runs) in zip(panels, cells.items(), strict=False):
        for run in runs.itertuples():
            points = [(number(as_dict(entry).get("step")), number(as_dict(entry).get(family.measure))) for entry in run.validation]
            known = [(step, value) for step, value in points if step is not None and value is not None]
            colour, dash = (COLOURS[0], "-") if run.fit else (COLOURS[1], "--")
            axes.plot([step for step, _ in known], [value for _, value in known], dash, color=colour, linewidth=0.7, alpha=0.7)
        if family.bar is not None:
            axes.axhline(family.bar, color=GREY, linestyle=":", linewidth=0.8)
        axes.set_title(f"{label}: {int(runs['fit'].sum())}/{len(runs)}")
    for axes in panels[len(cells) :]:
        axes.set_visible(False)
    drawing.supxlabel("step", fontsize=9)
    drawing.supylabel(f"validation {family.measure}", fontsize=9)
    return drawing
