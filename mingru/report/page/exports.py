"""A table as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io

from mingru.report.document import Table

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


def csv_text(table: Table) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.headers, *table.rows])
    return text.getvalue()


def latex(table: Table) -> str:
    """For the booktabs package."""
    columns = "".join("r" if right else "l" for right in table.numeric)
    head, *body = (" & ".join(escape(cell) for cell in row) + r" \\" for row in [table.headers, *table.rows])
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    return text.translate(LATEX)
