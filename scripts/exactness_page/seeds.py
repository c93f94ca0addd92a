"""The tables of docs/exactness.md that have a row for each seed."""

from __future__ import annotations

from mingru.analysis.choices import Block
from mingru.report.document import Table, columns
from scripts.choices import alive
from scripts.exact import LONG
from scripts.exactness_page.cells import FASTER, LENGTHS, Record, cells, certificates, headline

AT_LENGTHS = tuple(f">@{length:,}" for length in LENGTHS)
WRONG = (">wrong tokens at 1,024", f">at {LONG:,}")


def s3_hier(study: list[Record], search: list[Record]) -> Table:
    """The headline cell of S3-hier."""
    runs = headline(study, "s3_hier")
    certified, rows = certificates(study, runs), []
    for run in runs:
        certificate = certified.get(run["seed"])
        rows.append(
            [
                str(run["seed"]),
                str(run["steps_to_fit"] or "never"),
                *accuracy(run),
                *wrong_tokens(run),
                str(n_clocks(run)) if "choices" in run else "-",
                entries(run),
                *([f"{certificate['states']:,}", f"{certificate['answers']['margin']:.1f}"] if certificate else ["-", "-"]),
            ]
        )
    names = (">seed", ">fits from step", fresh(runs), *AT_LENGTHS, *WRONG, ">clocks below", "entries alive in the composer's blocks")
    headers, numeric = columns(*names, ">hardened: states, all right", ">by")
    return Table("s3_hier", "", headers, rows, numeric)


def s5(study: list[Record], search: list[Record]) -> Table:
    """The headline cell of S5, and what hardening made of it."""
    runs = headline(study, "s5")
    certified, rows = certificates(study, runs), []
    for run in runs:
        certificate = certified.get(run["seed"])
        full = next((stage["step"] for stage in run["stages"] if stage["length"] == run["length"]), None)
        read = ["-", "-"]
        if certificate:
            read = [f"{certificate['reading']['margin']:.2f}", str(sum(bool(block["dims"]) for block in certificate["blocks"]))]
        rows.append([str(run["seed"]), str(full or "never"), *accuracy(run), *read, exact_up_to(certificate), proved_for(certificate)])
    names = (">seed", ">full length from step", fresh(runs), *AT_LENGTHS, ">margin of the table read", ">blocks that carry it")
    headers, numeric = columns(*names, ">hardened: exact up to", ">proved for")
    return Table("s5", "", headers, rows, numeric)


def s5_choices(study: list[Record], search: list[Record]) -> Table:
    """Selection on S5 with the faster recipe: which entries are left apart, and what hardening made of it."""
    runs = cells(study).get(("s5", "selection", FASTER), [])
    certified, rows = certificates(study, runs), []
    for run in runs:
        certificate = certified.get(run["seed"])
        came_to = max(stage["length"] for stage in run["stages"])
        hardened = [made(certificate), exact_up_to(certificate), proved_for(certificate)]
        rows.append([str(run["seed"]), str(came_to), *accuracy(run), *wrong_tokens(run), entries(run), *hardened])
    names = (">seed", ">came to length", fresh(runs), *AT_LENGTHS, *WRONG, "entries alive in the blocks")
    headers, numeric = columns(*names, "hardened", ">exact up to", ">proved for")
    return Table("s5_choices", "", headers, rows, numeric)


def fresh(runs: list[Record]) -> str:
    """The header of the fresh accuracy."""
    return f">fresh at {runs[0]['config']['evaluation']['select_length'] if runs else '-'}"


def accuracy(run: Record) -> list[str]:
    """The fresh one that decides on the fit, and that by length."""
    return [f"{run['selection']['fresh_accuracy']:.5f}", *(f"{run['accuracy'][str(length)]:.4f}" for length in LENGTHS)]


def wrong_tokens(run: Record) -> list[str]:
    measured = run.get("exactness", {}).get("measured")
    counts = [measured[str(length)] for length in (1024, LONG)] if measured else []
    return [f"{count['wrong']:,} in {count['tokens']:,}" for count in counts] or ["-", "-"]


def blocks_of(run: Record, layer: int) -> list[Block]:
    """What the blocks of one of a run's selections have become (scripts/choices.py)."""
    return [Block(**block) for block in run["choices"]["layers"][layer]["blocks"]]


def n_clocks(run: Record) -> int:
    return sum(block.is_clock for block in blocks_of(run, 0))


def entries(run: Record) -> str:
    return alive([block.alive for block in blocks_of(run, -1)]) if "choices" in run else "-"


def made(certificate: Record | None) -> str:
    if certificate is None:
        return "-"
    states = certificate.get("states")
    return f"a machine of {states:,} states" if states else "a representation"


def exact_up_to(certificate: Record | None) -> str:
    return f"{max(certificate['exact_at'], default=0):,}" if certificate else "-"


def safe_tokens(certificate: Record) -> float:
    """For how many tokens rounding cannot matter; for a machine there is no limit."""
    return certificate["safe_tokens"]["float32"] or float("inf")


def proved_for(certificate: Record | None) -> str:
    if certificate is None:
        return "-"
    return "any length" if safe_tokens(certificate) == float("inf") else f"{safe_tokens(certificate):,}"
