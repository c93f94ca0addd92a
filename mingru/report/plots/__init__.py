"""Pictures of a family: which there are, and how they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from mingru.report.families import Family
from mingru.report.plots import counts, seeds
from mingru.report.plots.style import svg


def pictures(family: Family) -> Iterator[tuple[str, str, Figure]]:
    """Name, caption and figure of every picture that the family has data for."""
    yield from counts.pictures(family)
    yield from seeds.pictures(family)


def drawn(family: Family, prefix: str, withheld: bool = False) -> list[tuple[str, str, str]]:
    """Name, caption and SVG text of every picture; `withheld` leaves out the one that compares."""
    hidden = {"odds_ratios"} if withheld else set()
    named = [(f"{prefix}-{name}", caption, figure) for name, caption, figure in pictures(family) if name not in hidden]
    return [(name, caption, svg(figure, name)) for name, caption, figure in named]


def write(drawings: list[tuple[str, str, str]], folder: Path) -> None:
    """One SVG file per picture."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, _, text in drawings:
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")
