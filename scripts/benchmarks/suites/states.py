"""Ops against the size of the state."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Ratio
from scripts.benchmarks.row import Point, at_most
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import Shapes

SIZES = (256, 1024, 4096)
SMALLEST = 64
# The ops that grow by further channels, blocks or heads of the same kind.
CURVES = ("diagonal_scan", "givens_scan", "delta_scan")


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    small = shapes.state(SMALLEST)
    sizes = [size for size in map(shapes.state, SIZES) if size > small]
    return [growth(op, small, size, shapes, reach=(op, size) == ("givens_scan", sizes[-1])) for op in CURVES for size in sizes]


def growth(op: str, small: int, large: int, shapes: Shapes, reach: bool) -> Ratio:
    shape = {"name": op, "batch": shapes.batch(), "length": shapes.length(64)}
    per = shape["batch"] * shape["length"]
    # 64 elements of delta_scan are one head of 8x8.
    return Ratio(
        f"{op} alone, T={shape['length']}, state {small} to {large:,}: growth of time / growth of state",
        Work("ops", "op", {"state": large, **shape}),
        Work("ops", "op", {"state": small, **shape}),
        at_most(1.1) if reach else None,
        scale=small / large,
        points=(Point("state", op, large, 0, per), Point("state", op, small, 1, per)),
    )
