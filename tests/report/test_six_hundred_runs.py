"""600 started runs of 12 cells with every awkward value: each is counted once, and the p-values hold to six digits."""

from __future__ import annotations

import json
import math
from math import comb

import pytest

from mingru.report.families import families
from mingru.report.fisher import Count, compare
from mingru.report.fit_rate import fit_rates
from mingru.report.frame import tabulate
from mingru.report.runs import local
from tests.report.synthetic import config, failure, outcome, started, write

# task, mixer, settings, fits, finished, diverged, failed, killed, unreadable, superseded; fifty each
CELLS = [
    ("s3_hier", "givens", {}, 30, 44, 2, 1, 1, 1, 1),
    ("s3_hier", "givens", {"block_size": 4}, 12, 48, 0, 2, 0, 0, 0),
    ("s3_hier", "delta", {}, 11, 40, 5, 0, 5, 0, 0),
    ("s3_hier", "signed", {}, 0, 50, 0, 0, 0, 0, 0),
    ("s3_hier", "signed", {"coupled": True}, 0, 45, 0, 0, 0, 5, 0),
    ("s3_hier", "log", {}, 0, 0, 0, 25, 25, 0, 0),
    ("parity", "signed", {}, 50, 50, 0, 0, 0, 0, 0),
    ("parity", "signed", {"coupled": True}, 31, 47, 3, 0, 0, 0, 0),
    ("parity", "log", {}, 0, 49, 0, 0, 0, 0, 1),
    ("parity", "gru", {}, 49, 49, 1, 0, 0, 0, 0),
    ("parity", "givens", {}, 40, 46, 0, 1, 1, 1, 1),
    ("parity", "delta", {}, 1, 50, 0, 0, 0, 0, 0),
]
# a flag in many spellings
TRUE, FALSE = [True, 1, 1.0], [False, 0, None, math.nan]


def spelled(config, seed):
    """The same settings in another spelling: tuples, floats, absent and null."""
    changes = [{}, {"steps": 1600.0, "lr": "3e-3"}, {"snap": None}, {"recipe": None, "mlp_expansion": 4.0}]
    return {**config, **changes[seed % 4]}


def endings(fits, finished, diverged, failed, killed, unreadable):
    yield from (("finished", True) for _ in range(fits))
    yield from (("finished", False) for _ in range(finished - fits))
    for kind, n in (("diverged", diverged), ("failed", failed), ("killed", killed), ("unreadable", unreadable)):
        yield from ((kind, False) for _ in range(n))


def build(outputs):
    for task, mixer, settings, *counts, superseded in CELLS:
        for seed, (kind, fit) in enumerate(endings(*counts)):
            chosen = spelled(config(mixer, task, seed, settings=settings), seed)
            attempt = 2 if seed < superseded else 1
            record = started(chosen, attempt)
            ending = {
                "finished": outcome(chosen, fit) | {"fit": TRUE[seed % 3] if fit else FALSE[seed % 4]},
                "diverged": outcome(chosen, False, status="diverged", accuracy={"64": math.nan, "256": None}),
                "failed": failure(),
                "killed": None,
                "unreadable": outcome(chosen, True),
            }[kind]
            place = write(outputs, record, ending)
            if kind == "unreadable":
                (place / "result.json").write_text((place / "result.json").read_text()[:200])
            if attempt == 2:
                write(outputs, started(chosen, 1), failure(), suffix="-a1")


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    outputs = tmp_path_factory.mktemp("outputs")
    build(outputs)
    source = local.read(outputs)
    runs = tabulate(source.runs)
    return source, runs, fit_rates(runs)


def test_every_started_run_is_in_exactly_one_cell(counted):
    source, runs, rates = counted
    assert len(source.runs) == len(runs) == 600
    assert len(rates) == 12
    assert rates[["finished", "diverged", "failed", "missing", "superseded"]].to_numpy().sum() == 600


def test_each_cell_has_the_counts_that_were_made(counted):
    rates = {(row.task, *settings_of(row)): row for row in counted[2].itertuples()}
    for task, mixer, settings, fits, finished, diverged, failed, killed, unreadable, superseded in CELLS:
        cell = rates[task, mixer, settings.get("coupled"), settings.get("block_size", 8 if mixer == "givens" else None)]
        assert (cell.fits, cell.n) == (fits, finished + diverged)
        assert (cell.diverged, cell.failed, cell.missing, cell.superseded) == (diverged, failed, killed + unreadable, superseded)


def settings_of(row):
    layer = json.loads(row.arm)["layers"][1]
    return layer["mixer"], layer.get("coupled"), layer.get("block_size")


def enumerated(a: Count, b: Count) -> float:
    fits, weigh = a.fits + b.fits, lambda x: comb(a.n, x) * comb(b.n, a.fits + b.fits - x)
    weights = [weigh(x) for x in range(max(0, fits - b.n), min(a.n, fits) + 1)]
    return sum(weight for weight in weights if weight <= weigh(a.fits)) / comb(a.n + b.n, fits)


def by_hand(p):
    """Holm by its words: go up the ordered p, multiply by how many are left, never fall."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    corrected, highest = [0.0] * len(p), 0.0
    for left, i in zip(range(len(p), 0, -1), order, strict=True):
        highest = max(highest, min(1.0, left * p[i]))
        corrected[i] = highest
    return corrected


def test_every_p_holds_to_six_digits(counted):
    _, runs, rates = counted
    found = families(rates, runs)
    assert len(found) == 2
    for family in found:
        counts = [Count(cell.label, cell.fits, cell.n) for cell in family.cells.itertuples()]
        pairs = [pair for pair in compare(counts) if pair.first.n and pair.second.n]
        expected = [enumerated(pair.first, pair.second) for pair in pairs]
        assert [pair.p for pair in pairs] == pytest.approx(expected, rel=1e-7)
        assert [pair.p_holm for pair in pairs] == pytest.approx(by_hand(expected), rel=1e-7)
    assert {len(family.cells) for family in found} == {6}
