"""The rows, suite by suite. A suite's `rows` says what to compare with what, and measures nothing itself."""

from __future__ import annotations

from collections.abc import Callable

from scripts.benchmarks.measures import Measure
from scripts.benchmarks.suites import lengths, ops, report, states, steps, streaming, sweep, tasks
from scripts.benchmarks.suites.shapes import Shapes

# rows(shapes, peers): with the rows that need other packages, or without.
SUITES: dict[str, Callable[[Shapes, bool], list[Measure]]] = {
    "ops": ops.rows,
    "steps": steps.rows,
    "lengths": lengths.rows,
    "states": states.rows,
    "streaming": streaming.rows,
    "tasks": tasks.rows,
    "sweep": sweep.rows,
    "report": report.rows,
}
