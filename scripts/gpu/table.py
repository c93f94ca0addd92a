"""Times as a Markdown table."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.gpu.arguments import Shape

HEADER = ("op, batch, length, sizes", "µs", "floor, µs", "over floor", "compiled loop / op", "nn.GRU / op")


@dataclass(frozen=True)
class Row:
    """Seconds; None for what was not measured."""

    shape: Shape
    op: float
    floor: float
    compiled: float | None = None
    gru: float | None = None

    def cells(self) -> list[str]:
        ratios = [self.op / self.floor, *(None if other is None else other / self.op for other in (self.compiled, self.gru))]
        times = [f"{1e6 * seconds:,.0f}" if seconds >= 1e-5 else f"{1e6 * seconds:.1f}" for seconds in (self.op, self.floor)]
        return [str(self.shape), *times, *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)]


def markdown(rows: list[Row]) -> str:
    lines = [HEADER, ("---", *("---:" for _ in HEADER[1:])), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
