"""From suites to files: every row measured in turn, and written down before the next one begins."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.benchmarks import machine, plot, table
from scripts.benchmarks.measures import Measure
from scripts.benchmarks.remote import WorkError
from scripts.benchmarks.row import Row
from scripts.benchmarks.session import Options, Session
from scripts.benchmarks.show import Display
from scripts.benchmarks.suites import SUITES
from scripts.benchmarks.suites.shapes import Shapes


@dataclass
class Report:
    """`<folder>/<name>.json` and `.md`, the plots beside them, and the table in `document` if one is given."""

    folder: Path
    name: str
    document: Path | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    peers: dict[str, str] = field(default_factory=dict)
    quick: bool = False
    rows: list[Row] = field(default_factory=list)

    def write(self) -> str:
        """Write what there is so far; the Markdown."""
        self.folder.mkdir(parents=True, exist_ok=True)
        everything = (self.rows, self.machine, self.peers, self.quick)
        text = table.markdown(*everything)
        (self.folder / f"{self.name}.json").write_text(table.record(*everything), encoding="utf-8")
        (self.folder / f"{self.name}.md").write_text(text, encoding="utf-8")
        return text

    def finish(self) -> None:
        self.machine["load at end"] = machine.load()
        text = self.write()
        plots = plot.draw(self.rows, self.folder)
        if self.document is not None:
            table.put_into(self.document, text)
        written = [self.folder / f"{self.name}.{kind}" for kind in ("md", "json")] + plots
        print("\n".join(str(path) for path in written))


def run(suites: list[str], options: Options, report: Report, refuse_when_busy: bool = False) -> int:
    """0 unless a row failed; whether rows reach what they are to reach is for the table to say."""
    if (warning := machine.busy()) is not None:
        if refuse_when_busy:
            raise ValueError(f"{warning}; wait, or leave --idle out")
        print(f"bench.py: {warning}", file=sys.stderr)
    report.machine, report.quick = machine.describe(), options.quick
    plan = [(suite, each) for suite in suites for each in SUITES[suite](Shapes(options.quick), options.peers)]
    with Session(options) as session:
        if options.peers:
            report.peers = session.install_peers()
        with Display(len(plan), options.pairs) as display:
            session.done = display.pair
            for suite, measure in plan:
                display.begin(measure.measure)
                report.rows.append(row := measured(suite, measure, session))
                report.write()
                display.end(table.line(row))
    report.finish()
    return int(any(row.failed for row in report.rows))


def measured(suite: str, measure: Measure, session: Session) -> Row:
    """The row; without values and with the reason where something in it failed, which is no reason to lose the others."""
    try:
        row = measure.row(session)
    except WorkError as error:
        row = Row(measure.measure, reach=measure.reach, note=str(error), failed=True)
    session.drop()
    row.suite = suite
    if session.options.quick:
        # Other shapes than the ones that it is asked of.
        row.reach = None
    return row
