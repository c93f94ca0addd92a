"""The report as one HTML file that needs nothing else: no network, no server, no other file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from mingru.report.document import Document
from mingru.report.page import exports

HERE = Path(__file__).parent


def page(
    document: Document, pictures: dict[str, list[tuple[str, str, str]]], listing: dict[str, Any], methods: list[str], refresh: int = 0
) -> str:
    """The page. `pictures` maps a section's title to (name, caption, SVG); `refresh` reloads it every so many seconds."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    drawn = {title: [(name, caption, Markup(svg)) for name, caption, svg in found] for title, found in pictures.items()}
    return environment.get_template("page.html").render(
        document=document,
        pictures=drawn,
        listing=_data(listing),
        methods=methods,
        refresh=refresh,
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup((HERE / "page.js").read_text(encoding="utf-8")),
        csv=exports.csv_text,
        latex=exports.latex,
    )


def _data(listing: dict[str, Any]) -> Markup:
    """JSON that no browser takes for markup, wherever it stands in a page."""
    text = json.dumps(listing, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
