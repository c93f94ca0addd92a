"""Pictures of counts: fit rates, accuracy by length, odds ratios."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from mingru.report import deciding, fisher
from mingru.report.effects import conditional_odds_ratio
from mingru.report.families import Family
from mingru.report.medians import median_interval
from mingru.report.plots.style import COLOURS, GREY, figure, legend, marks, styled
from mingru.report.scores import by_length


def pictures(family: Family) -> Iterator[tuple[str, str, Figure]]:
    if family.cells["n"].any():
        yield "fit_rates", "Fit rate with its exact 95 % interval.", fit_rates(family)
    if any(family.cells["scores"]):
        caption = (
            f"Median {family.measure} by test length with its bootstrap interval (below 8 runs, their range); dotted: chance; "
            "the vertical line is the training length."
        )
        yield "scores", caption, scores_by_length(family)
    compared = [(pair, differ) for pair, differ in _pairs(family) if not pair.undefined and pair.first.n and pair.second.n]
    if compared:
        yield "odds_ratios", "Odds ratio of fitting with its exact 95 % interval; right of 1 favours the first.", odds_ratios(compared)


def _pairs(family: Family) -> list[tuple[fisher.Comparison, bool]]:
    """Every comparison, and whether it is significant."""
    if family.baseline_missing:
        return []
    return list(zip(fisher.compare(deciding.counts_of(family), family.baseline), deciding.significant(family), strict=True))


@styled
def fit_rates(family: Family) -> Figure:
    cells = [cell for cell in family.each if cell.n]
    drawing, (axes,) = figure(0.9 + 0.28 * len(cells))
    for row, cell in enumerate(reversed(cells)):
        axes.plot([cell.low, cell.high], [row, row], color=COLOURS[0], solid_capstyle="butt")
        axes.plot(cell.rate, row, "o", color=COLOURS[0])
        axes.annotate(f"{cell.fits}/{cell.n}", (1.02, row), xycoords=("axes fraction", "data"), va="center")
    axes.set_yticks(range(len(cells)), [cell.label for cell in reversed(cells)])
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.6, len(cells) - 0.4), xlabel="fit rate")
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    return drawing


@styled
def scores_by_length(family: Family) -> Figure:
    drawing, (axes,) = figure(3.4)
    cells = [cell for cell in family.each if cell.scores]
    for cell, mark in zip(cells, marks(len(cells)), strict=True):
        known = by_length(family.runs[cell.label]["scores"])
        median, low, high = zip(*(_band(values) for values in known.values()), strict=True)
        axes.plot(list(known), median, label=f"{cell.label} ({cell.fits}/{cell.n})", markersize=4, **mark)
        axes.fill_between(list(known), low, high, color=mark["color"], alpha=0.15, linewidth=0)
    chance = next((cell.chance for cell in cells if cell.chance), {})
    if chance:
        axes.plot(list(chance), list(chance.values()), ":", color=GREY, label="chance")
    axes.axvline(family.length, color=GREY, linewidth=0.8)
    lengths = sorted({n for cell in cells for n in cell.scores})
    _log_axis(axes, lengths)
    axes.set(xlabel="test length", ylabel=family.measure)
    if family.measure == "accuracy":
        axes.set_ylim(0, 1.02)
    legend(axes, len(cells) + bool(chance))
    return drawing


def _band(values: NDArray) -> tuple[float, float, float]:
    """Median and its interval, or the range below 8 runs."""
    median, low, high = median_interval(values)
    return (median, low, high) if low == low else (median, values.min(), values.max())


def _log_axis(axes, lengths: list[int]) -> None:
    if min(lengths) > 0:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(lengths))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


@styled
def odds_ratios(compared: list[tuple[fisher.Comparison, bool]]) -> Figure:
    drawing, (axes,) = figure(0.9 + 0.26 * len(compared))
    found = [conditional_odds_ratio(pair.first.fits, pair.first.n, pair.second.fits, pair.second.n) for pair, _ in compared]
    known = [value for effect in found for value in (effect.value, effect.low, effect.high) if 0 < value < np.inf]
    left, right = min([0.2, *known]) / 2, max([5.0, *known]) * 2
    for row, ((_, differ), effect) in enumerate(zip(reversed(compared), reversed(found), strict=True)):
        colour = COLOURS[1] if differ else COLOURS[0]
        low, high, value = (np.clip(limit, left, right) for limit in (effect.low, effect.high, effect.value))
        axes.plot([low, high], [row, row], color=colour, linestyle="-" if differ else "--")
        # an arrow head where the interval or the estimate leaves the picture
        marker = "<" if effect.value < left else ">" if effect.value > right else "o"
        axes.plot(value, row, marker, color=colour, clip_on=False)
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(compared)), [f"{pair.first.label} against {pair.second.label}" for pair, _ in reversed(compared)])
    axes.set(xlim=(left, right), ylim=(-0.6, len(compared) - 0.4), xlabel="odds ratio (solid: Holm p at most .05)")
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    return drawing
