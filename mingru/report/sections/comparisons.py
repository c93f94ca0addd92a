"""Which cells differ: Fisher's exact test, corrected by Holm, or the sequential test where the sweep stopped by it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mingru.report import fisher, sequential
from mingru.report.deciding import counts_of, fits_in_seed_order
from mingru.report.document import Section, Table, columns
from mingru.report.families import Family
from mingru.report.numbers import p_value, plural

# Behind a p-value that takes n as fixed where it was not.
UNFIXED = "~"


def section(family: Family, seen: Mapping[str, list[int]]) -> Section:
    """`seen` says of each label at how many runs it was looked at before."""
    title = f"{family.title}: comparisons"
    if family.baseline_missing:
        return Section(title, ["No comparison: the baseline has no cell here."])
    found = fisher.compare(counts_of(family), family.baseline)
    lines = [f"Fit: {family.fit_rule}.", _family_line(family, found), *_without_data(found), *_unfixed(family, seen)]
    if any(pair.p == pair.p for pair in found) and not any(pair.reachable for pair in found if pair.p == pair.p):
        lines.append("No comparison here can reach .05 at this n, whatever the outcome: more seeds are needed.")
    table = _sequential(family, found) if family.sequential else _fisher(found, seen)
    return Section(title, lines, [table])


def _family_line(family: Family, found: list[fisher.Comparison]) -> str:
    scope = f"every cell against {family.baseline}" if family.baseline else f"all pairs of {plural(len(family.cells), 'cell')}"
    tested = sum(pair.p == pair.p for pair in found)
    if family.sequential:
        test = "always-valid sequential test of the fits, seed by seed, because the sweep was told to stop when significant"
    else:
        test = "Fisher's exact test, two-sided, on the counts of fits"
    return (
        f"Test: {test}. Family: {scope} at this task, length, protocol and stratum; Holm's correction over {plural(tested, 'comparison')}."
    )


def _without_data(found: list[fisher.Comparison]) -> list[str]:
    empty = sum(pair.p != pair.p for pair in found)
    return [f"{plural(empty, 'pair')} without data not counted among the comparisons."] if empty else []


def _unfixed(family: Family, seen: Mapping[str, list[int]]) -> list[str]:
    """Why n was not fixed beforehand, if it was not."""
    if family.sequential:
        stopped = ", ".join(f"{label} ({len(family.runs[label])} runs)" for label in family.sequential)
        return [
            f"Run under stop=significant: {stopped}. How many seeds there are depends on how the earlier ones ended: a p-value marked "
            f"{UNFIXED} is computed as if n had been fixed beforehand and overstates the evidence; the sequential p does not."
        ]
    if not seen:
        return []
    at = "; ".join(f"{label} at {', '.join(str(n) for n in numbers)}" for label, numbers in seen.items())
    return [
        f"Seeds were added after a report was read ({at} runs). A p-value marked {UNFIXED} is computed as if n had been fixed "
        "beforehand and overstates the evidence; the sequential p among the sensitivity columns does not."
    ]


def _fisher(found: list[fisher.Comparison], seen: Mapping[str, list[int]]) -> Table:
    rows = []
    for pair in found:
        p = [marked(pair_p(pair, value), pair, seen) for value in (pair.p, pair.p_holm)]
        rows.append([pair.first.label, str(pair.first), pair.second.label, str(pair.second), *p, pair.verdict])
    headers, numeric = columns("mixer", ">fits", "against", ">fits", ">Fisher p", ">Holm p", "verdict at .05")
    return Table("comparisons", "Pairwise two-sided Fisher's exact test with Holm's correction.", headers, rows, numeric)


def pair_p(pair: fisher.Comparison, p: float) -> str:
    if pair.first.n == 0 or pair.second.n == 0:
        return "no data"
    return "undefined" if pair.undefined else p_value(p)


def marked(p: str, pair: fisher.Comparison, unfixed: Collection[str]) -> str:
    """`p` with its mark where the number of runs of one of the two, `unfixed`, depended on what was seen."""
    return p + UNFIXED if p not in ("no data", "undefined") and {pair.first.label, pair.second.label} & set(unfixed) else p


def _sequential(family: Family, found: list[fisher.Comparison]) -> Table:
    decided = sequential.decide(fits_in_seed_order(family), baseline=family.baseline).pairs
    rows = []
    for pair, fixed in zip(decided, found, strict=True):
        verdict = "no data" if fixed.verdict == "no data" else "differ" if pair.significant else "not shown to differ"
        p = ["no data"] * 2 if verdict == "no data" else [p_value(pair.p), p_value(pair.p_holm)]
        fisher_p = marked(pair_p(fixed, fixed.p), fixed, family.sequential)
        rows.append([pair.first, str(fixed.first), pair.second, str(fixed.second), str(pair.n), *p, fisher_p, verdict])
    headers, numeric = columns("mixer", ">fits", "against", ">fits", ">pairs", ">sequential p", ">Holm p", ">Fisher p", "verdict at .05")
    return Table("comparisons", "Pairwise sequential test with Holm's correction.", headers, rows, numeric)
