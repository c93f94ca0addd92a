"""The report as Markdown, padded so that it reads as well on a terminal."""

from __future__ import annotations

import textwrap
from pathlib import Path

from mingru.report.document import Document, Section, Table

WIDTH = 118


def markdown(report: Document, detail: bool = True) -> str:
    """The whole report, or without `detail` what fits a terminal."""
    parts = [f"# {report.title}", *_paragraphs(report.lines)]
    for section in report.sections:
        if detail or not section.detail:
            parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {section.title}", *_paragraphs(section.lines)]
    for table in section.tables:
        parts += [*(_paragraphs([table.caption]) if section.detail else []), table_text(table)]
    return parts


def _paragraphs(lines: list[str]) -> list[str]:
    return [textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False) for line in lines]


def table_text(table: Table) -> str:
    """A pipe in a cell would end it, so it is escaped."""
    rows = [[text.replace("|", "\\|").replace("\n", " ") for text in row] for row in [table.headers, *table.rows]]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(table.headers))]
    head, *body = (_line(row, widths, table.numeric) for row in rows)
    return "\n".join([head, _rule(widths, table.numeric), *body])


def _line(row: list[str], widths: list[int], numeric: list[bool]) -> str:
    padded = (text.rjust(width) if right else text.ljust(width) for text, width, right in zip(row, widths, numeric, strict=True))
    return f"| {' | '.join(padded)} |"


def _rule(widths: list[int], numeric: list[bool]) -> str:
    return "|" + "|".join("-" * (width + 1) + (":" if right else "-") for width, right in zip(widths, numeric, strict=True)) + "|"


def write(text: str, file: Path) -> None:
    """Write the report; OSError when the place is not writable."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
