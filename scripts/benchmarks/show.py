"""A progress bar that moves only between two times: a thread that draws would be measured too."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class Display:
    """One bar over all rows; each row's line stays above it. Without a terminal there are only the lines."""

    def __init__(self, rows: int, pairs: int) -> None:
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        columns = BarColumn(), TextColumn("{task.completed:.0f}/{task.total} rows"), TimeElapsedColumn(), TextColumn("{task.description}")
        self._bar = Progress(*columns, console=self._console, auto_refresh=False, transient=True)
        self._task = self._bar.add_task("", total=rows)
        self._pairs, self._row = pairs, 0

    def __enter__(self) -> Display:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, measure: str) -> None:
        self._bar.update(self._task, description=measure.replace("[", r"\["))
        self._bar.refresh()

    def pair(self) -> None:
        self._bar.advance(self._task, 0.99 / self._pairs)
        self._bar.refresh()

    def end(self, line: str) -> None:
        self._row += 1
        self._bar.update(self._task, completed=self._row)
        self._bar.console.print(line, markup=False)
        self._bar.refresh()
