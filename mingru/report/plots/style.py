"""Colours, marks and sizes: told apart without colour, on paper and by colour-blind readers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import wraps
from itertools import cycle, islice
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito 2008, without yellow, which is too light for paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")
GREY = "#666666"
WIDTH = 5.5

SETTINGS = {
    "font.size": 9,
    "font.family": "sans-serif",
    "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    # a dollar sign in a label is a dollar sign
    "text.parse_math": False,
    # text stays text: smaller, searchable, in the page's own font
    "svg.fonttype": "none",
    "svg.hashsalt": "mingru",
}
# matplotlib measures with DejaVu Sans and need not say so for each text
matplotlib.set_loglevel("error")


def styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw with these settings and leave the user's alone."""

    @wraps(draw)
    def drawn(*arguments: Any) -> Figure:
        with matplotlib.rc_context(SETTINGS):
            return draw(*arguments)

    return drawn


def figure(height: float, rows: int = 1, columns: int = 1, share: bool = False) -> tuple[Figure, list[Axes]]:
    drawing = Figure((WIDTH, height), layout="constrained")
    return drawing, list(drawing.subplots(rows, columns, squeeze=False, sharex=share, sharey=share).flat)


def marks(n: int) -> list[dict[str, str]]:
    """A colour, a marker and a dash for each of n lines; colour and dash together tell 28 apart."""
    lines = zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False)
    return [{"color": colour, "marker": marker, "linestyle": dash} for colour, marker, dash in islice(lines, n)]


def legend(axes: Axes, entries: int) -> None:
    """Below the axes, so that it never covers a line."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=min(3, max(1, entries)), fontsize=8)


def svg(drawing: Figure, name: str) -> str:
    """The figure as an SVG element whose ids are its own, so that several can stand in one page."""
    text = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        drawing.savefig(text, format="svg", metadata={"Date": None, "Title": name})
    body = text.getvalue()
    body = body[body.index("<svg") :]
    ids = set(re.findall(r'\bid="([^"]+)"', body))
    return re.sub(r'(\bid="|url\(#|href="#)([^")]+)', lambda found: f"{found[1]}{name}-{found[2]}" if found[2] in ids else found[0], body)
