"""How many runs fit, how well they do at each length, and what the cells are."""

from __future__ import annotations

from mingru.report.document import Section, Table, columns
from mingru.report.families import Family
from mingru.report.frame import TRACKS
from mingru.report.numbers import count, fraction, interval


def section(family: Family) -> Section:
    rule = f"Fit: {family.fit_rule}."
    named = [f"{cell.label}: {cell.differences}." for cell in family.each if "#" in cell.label and cell.differences]
    return Section(family.title, [rule, *named], [_fits(family), _scores(family), *_exact(family), *_tracking(family), _stacks(family)])


def _fits(family: Family) -> Table:
    rows = [
        [
            cell.label,
            f"{cell.fits}/{cell.n}" if cell.n else "no data",
            fraction(cell.rate),
            interval(cell.low, cell.high),
            interval(cell.wilson_low, cell.wilson_high),
            *(str(getattr(cell, kind)) for kind in ("diverged", "failed", "missing")),
        ]
        for cell in family.each
    ]
    headers, numeric = columns("mixer", ">fits", ">rate", ">95 % interval", ">Wilson", ">diverged", ">failed", ">missing")
    return Table("fits", "Fits of counted runs, with the exact (Clopper-Pearson) and the Wilson 95 % interval.", headers, rows, numeric)


def _scores(family: Family) -> Table:
    cell_rows = [cell for cell in family.each if cell.n]
    lengths = sorted({n for cell in cell_rows for n in cell.scores})
    rows = []
    for cell in cell_rows:
        groups = [("all" if cell.fits < cell.n else "all, each fits:", cell.n, cell.scores, cell.scored)]
        if 0 < cell.fits < cell.n:
            groups.append(("fitting", cell.fits, cell.fit_scores, cell.fit_scored))
        for name, n, scores, scored in groups:
            known = min((scored.get(length, 0) for length in lengths), default=0)
            over = f"{name} {n}" if known == n else f"{name} {known} of {n}"
            rows.append([cell.label, over, *(fraction(scores.get(length)) for length in lengths)])
    for name in ("chance", "constant"):
        known = next((getattr(cell, name) for cell in cell_rows if getattr(cell, name)), {})
        if known:
            rows.append([name, "", *(fraction(known.get(length)) for length in lengths)])
    headers, numeric = columns(f"mean {family.measure}", "over", *(f">@{length}" for length in lengths))
    caption = f"Mean {family.measure} by test length, over all counted runs and over the fitting ones."
    return Table("scores", caption, headers, rows, numeric)


def _exact(family: Family) -> list[Table]:
    known = {label: list(runs["exact"]) for label, runs in family.runs.items()}
    lengths = sorted({length for runs in known.values() for measured in runs for length in measured})
    rows = []
    for label, runs in known.items():
        looked_at = sum(bool(measured) for measured in runs)
        if looked_at:
            exact = [sum(measured.get(length, False) for measured in runs) for length in lengths]
            rows.append([label, f"{looked_at} of {len(runs)}", *(f"{number}/{len(runs)}" for number in exact)])
    headers, numeric = columns("exact, as learned", "measured", *(f">@{length:,}" for length in lengths))
    caption = (
        "Counted runs without a wrong token in 2,048 fresh sequences of a length, in 256 from 16,384 on (scripts/exact.py); "
        "one that was not measured is not exact."
    )
    return [Table("exact", caption, headers, rows, numeric)] if rows else []


def _tracking(family: Family) -> list[Table]:
    known = {label: runs["tracks_to"] for label, runs in family.runs.items() if len(runs) and family.measure == "accuracy"}
    rows = [[label, *(f"{value:,.0f}" for value in (lengths.min(), lengths.median(), lengths.max()))] for label, lengths in known.items()]
    headers, numeric = columns(f"accuracy > {TRACKS:g} up to", ">shortest", ">median", ">longest")
    caption = f"How far runs track: of all lengths measured the longest with accuracy above {TRACKS:g}, 0 without one, over counted runs."
    return [Table("tracking", caption, headers, rows, numeric)] if rows else []


def _stacks(family: Family) -> Table:
    rows = [
        [cell.label, cell.stack, *map(count, (cell.parameters, cell.composer_parameters, cell.state_size, cell.seconds)), cell.cell]
        for cell in family.each
    ]
    headers, numeric = columns("mixer", "stack", ">parameters", ">composer", ">state", ">median seconds", "cell")
    caption = "What each name stands for; composer is the parameters of the last layer's mixer, state the elements carried per sequence."
    return Table("stacks", caption, headers, rows, numeric)
