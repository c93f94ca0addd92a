"""From a source of runs to the report's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mingru.report import contents, families, fit_rate, frame, looks, methods, table
from mingru.report.document import Document
from mingru.report.runs.record import RunsError, Source

# More are reported in a few seconds only without drawing them.
MOST_DRAWN = 2_000


@dataclass(frozen=True)
class Request:
    """What to report and where. `folder` takes the page, the pictures and the record of readings, `markdown` the text.

    `pictures` is None for as many runs as are quickly drawn. `refresh` is the seconds after which a watched page reloads
    itself; while watching, comparisons are withheld, so that watching is no look at them.
    """

    folder: Path
    markdown: Path
    baseline: str | None = None
    pool: bool = False
    pictures: bool | None = None
    refresh: int = 0


def report(source: Source, request: Request) -> Document:
    """Write report.md, index.html and the pictures, and note the reading.

    Raises RunsError without any run, ValueError for a baseline that names no cell or several.
    """
    from mingru.report.page import page
    from mingru.report.page.runs import listing

    if not source.runs:
        raise RunsError(f"{source.name}: no runs found" + "".join(f"; {note}" for note in source.notes))
    runs = frame.tabulate(source.runs, request.pool)
    found = families.families(fit_rate.fit_rates(runs), runs, request.baseline)
    record = request.folder / "looks.jsonl"
    earlier = looks.load(record)
    document = contents.contents(source, runs, found, earlier, withheld=bool(request.refresh))
    drawn = _pictures(found, request) if request.pictures or (request.pictures is None and len(runs) <= MOST_DRAWN) else {}
    table.write(table.markdown(document), request.markdown)
    html = page(document, drawn, listing(runs, found), methods.methods(runs, found, earlier), request.refresh)
    table.write(html, request.folder / "index.html")
    if not request.refresh:
        looks.record(record, found)
    return document


def _pictures(found: list[families.Family], request: Request) -> dict[str, list[tuple[str, str, str]]]:
    from mingru.report import plots

    drawn = {}
    for number, family in enumerate(found, 1):
        drawn[family.title] = plots.drawn(family, f"family{number}", withheld=bool(request.refresh))
        plots.write(drawn[family.title], request.folder / "plots")
    return drawn
