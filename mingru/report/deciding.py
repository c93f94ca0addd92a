"""Which test decides in a family: Fisher's exact one, or the sequential one where the sweep was told to stop by it."""

from __future__ import annotations

import pandas as pd

from mingru.report import fisher, sequential
from mingru.report.families import Family


def counts_of(family: Family) -> list[fisher.Count]:
    return [fisher.Count(cell.label, cell.fits, cell.n) for cell in family.each]


def in_seed_order(family: Family) -> dict[str, pd.DataFrame]:
    """Each cell's runs by ascending seed, up to the first seed that is still without an outcome."""
    found = {}
    for cell in family.each:
        runs = family.runs[cell.label]
        found[cell.label] = runs if pd.isna(cell.running) else runs[runs["seed"] < cell.running]
    return found


def fits_in_seed_order(family: Family) -> dict[str, list[bool]]:
    return {label: [bool(fit) for fit in runs["fit"]] for label, runs in in_seed_order(family).items()}


def significant(family: Family) -> list[bool]:
    """Of every comparison, in the order of `fisher.compare`, whether Holm's p of the test that decides is at most .05."""
    if family.sequential:
        return [pair.significant for pair in sequential.decide(fits_in_seed_order(family), baseline=family.baseline).pairs]
    return [pair.p_holm <= fisher.ALPHA for pair in fisher.compare(counts_of(family), family.baseline)]
