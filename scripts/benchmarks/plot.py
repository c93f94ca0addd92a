"""Time per token against sequence length and against state size, from the points of the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from scripts.benchmarks.row import Row

AXES = {
    "length": ("sequence length T", "layer alone: time per token, forward + backward (µs)", "time_against_length.png"),
    "state": ("state elements per sequence", "op alone: time per token, forward + backward (µs)", "time_against_state.png"),
}


def curves(rows: Sequence[Row], figure: str) -> dict[str, dict[int, float]]:
    """Microseconds per token by name and position."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        for point in row.points if row.seconds else ():
            if point.figure == figure:
                found[point.curve].setdefault(point.x, 1e6 * row.seconds[point.side] / point.per)
    return found


def style(curve: str) -> str:
    """Ours solid, torch's dotted, other packages' dashed."""
    if curve.startswith("nn."):
        return "o:"
    return "s--" if "published" in curve or "minGRU-pytorch" in curve else "o-"


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the plots that have points, and say which they are."""
    matplotlib.use("Agg")
    written = []
    for figure, (across, up, name) in AXES.items():
        lines = curves(rows, figure)
        if not lines:
            continue
        canvas = Figure(figsize=(9, 6), layout="constrained")
        axes = canvas.add_subplot(xscale="log", yscale="log", xlabel=across, ylabel=up)
        axes.set_xscale("log", base=2)
        for curve, points in lines.items():
            axes.plot(*zip(*sorted(points.items()), strict=True), style(curve), label=curve)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend(fontsize="small", ncols=2)
        canvas.savefig(folder / name, dpi=120)
        written.append(folder / name)
    return written
