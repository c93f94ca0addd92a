"""What a report is made of, before it is laid out as Markdown, a page, LaTeX or CSV."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """A table of text. `caption` is one sentence; `numeric` marks the columns that are set flush right."""

    name: str
    caption: str
    headers: list[str]
    rows: list[list[str]]
    numeric: list[bool]


@dataclass(frozen=True)
class Section:
    """`detail` sections stand in the file and on the page, and are left out on the terminal."""

    title: str
    lines: list[str]
    tables: list[Table] = field(default_factory=list)
    detail: bool = False


@dataclass(frozen=True)
class Document:
    """`summary` is one table over all families, for whoever reads no further."""

    title: str
    lines: list[str]
    summary: Table
    sections: list[Section]


def columns(*headers: str) -> tuple[list[str], list[bool]]:
    """Headers and which of them are numeric, from headers of which the numeric ones begin with `>`."""
    return [header.removeprefix(">") for header in headers], [header.startswith(">") for header in headers]
