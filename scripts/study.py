"""The tables and pictures of docs/exactness.md, from the records in docs/data: python scripts/study.py renews them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from mingru.report.plots import style
from mingru.report.table import table_text
from mingru.sweep import published
from scripts.exactness_page.cells import HEADLINE, Record
from scripts.exactness_page.picture import by_length
from scripts.exactness_page.tables import TABLES

PAGE = PROJECT / "docs" / "exactness.md"
PICTURES = PROJECT / "docs" / "pictures"
STUDY, SEARCH = (PROJECT / "docs" / "data" / name for name in ("exactness.jsonl", "recipes.jsonl"))


def read(file: Path) -> list[Record]:
    return list(published.read(file).values())


def renewed(text: str) -> str:
    """The page with each table, between its two marks, as the records have it now."""
    study, search = read(STUDY), read(SEARCH)
    for name, make in TABLES.items():
        begin, end = (f"<!-- scripts/study.py {name}: {side} -->" for side in ("begin", "end"))
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{PAGE}: has no marks for the table {name!r}, {begin} and {end}")
        table = table_text(make(study, search))
        text = pattern.sub(lambda _, begin=begin, table=table, end=end: f"{begin}\n\n{table}\n\n{end}", text)
    return text


def main() -> int:
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURES.mkdir(exist_ok=True)
    for task in HEADLINE:
        file = PICTURES / f"exactness_{task}.svg"
        file.write_text(style.svg(by_length(read(STUDY), task), file.stem), encoding="utf-8")
        print(file.relative_to(PROJECT))
    print(PAGE.relative_to(PROJECT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
