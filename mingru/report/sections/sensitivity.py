"""How large the differences are, and whether another test or another fit rule says otherwise. None of these decides."""

from __future__ import annotations

from collections.abc import Collection

from mingru.report import fisher, robustness, sequential
from mingru.report.deciding import counts_of, fits_in_seed_order, in_seed_order
from mingru.report.document import Section, Table, columns
from mingru.report.effects import Effect, conditional_odds_ratio, risk_difference
from mingru.report.families import Family
from mingru.report.numbers import p_value, ratio, signed
from mingru.report.sections.comparisons import marked, pair_p
from mingru.report.steps_to_fit import log_rank, times
from mingru.report.two_by_two import boschloo


def section(family: Family, seen: Collection[str]) -> Section:
    """`seen` are the cells that were looked at before they grew."""
    found = fisher.compare(counts_of(family), family.baseline)
    lines = [
        "These tables show how large the differences are and how far the conclusion depends on the test and the fit rule. "
        f"The {'sequential' if family.sequential else 'Fisher'} test above decides."
    ]
    tables = [_effects(found), _tests(family, found, {*seen, *family.sequential}), _rules(family)]
    return Section(f"{family.title}: sensitivity", lines, tables, detail=True)


def _effects(found: list[fisher.Comparison]) -> Table:
    rows = []
    for pair in found:
        cell = (pair.first.fits, pair.first.n, pair.second.fits, pair.second.n)
        rows.append(
            [
                pair.first.label,
                str(pair.first),
                pair.second.label,
                str(pair.second),
                _effect(pair, conditional_odds_ratio(*cell), ratio),
                _effect(pair, risk_difference(*cell), signed),
            ]
        )
    headers, numeric = columns("mixer", ">fits", "against", ">fits", ">odds ratio", ">risk difference")
    caption = "Conditional odds ratio with its exact 95 % interval, and difference of the fit rates with Newcombe's."
    return Table("effects", caption, headers, rows, numeric)


def _effect(pair: fisher.Comparison, effect: Effect, spell) -> str:
    if pair.first.n == 0 or pair.second.n == 0:
        return "no data"
    if effect.value != effect.value:
        return "undefined"
    return f"{spell(effect.value)} ({spell(effect.low)} to {spell(effect.high)})"


def _tests(family: Family, found: list[fisher.Comparison], unfixed: Collection[str]) -> Table:
    ordered = fits_in_seed_order(family)
    steps_of = {label: times(runs) for label, runs in family.runs.items()}
    rows = []
    for pair in found:
        a, b = pair.first, pair.second
        other = boschloo(a.fits, a.n, b.fits, b.n)
        always = sequential.sequential_p(ordered[a.label], ordered[b.label])
        steps = log_rank(steps_of[a.label], steps_of[b.label])
        no_data = a.n == 0 or b.n == 0
        log_rank_p = "no data" if no_data else "undefined" if steps != steps else p_value(steps)
        fixed = [marked(text, pair, unfixed) for text in (pair_p(pair, pair.p), pair_p(pair, other), log_rank_p)]
        rows.append([a.label, b.label, *fixed, "no data" if no_data else p_value(always)])
    headers, numeric = columns("mixer", "against", ">Fisher p", ">Boschloo p", ">log-rank p", ">sequential p")
    caption = (
        "Uncorrected p of other tests: Boschloo's on the same counts, the log-rank test on the steps to fit, the always-valid sequential "
        "one on the fits in the order of the seeds."
    )
    return Table("tests", caption, headers, rows, numeric)


def _rules(family: Family) -> Table:
    chosen = robustness.rules(family.bar, family.measure)
    rows = []
    for conclusion in robustness.conclusions(family.runs, chosen, family.baseline, in_seed_order(family) if family.sequential else None):
        counts = [conclusion.counts[rule.name] for rule in chosen]
        cells = ["no data" if a.n == 0 or b.n == 0 else f"{a.fits}:{b.fits}" for a, b in counts]
        a, b = counts[0]
        holds = "no data" if a.n == 0 or b.n == 0 else ("not by " + ", ".join(conclusion.dissenting)) if conclusion.dissenting else "yes"
        rows.append([conclusion.first, conclusion.second, f"{a.n}:{b.n}", *cells, holds])
    headers, numeric = columns("mixer", "against", ">n", *(f">{rule.name}" for rule in chosen), "same conclusion")
    caption = (
        "Fits of the two under other rules: other bars for the fresh score, the selecting validation (the reference's rule), the last "
        "validation; and whether Holm's p falls on the same side of .05."
    )
    return Table("rules", caption, headers, rows, numeric)
