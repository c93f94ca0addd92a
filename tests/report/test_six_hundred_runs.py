"""600 started runs of 12 cells with every awkward value: each is counted once, and the p-values hold to six digits."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from mingru.report.families import families
from mingru.report.fisher import Count, compare
from mingru.report.fit_rate import fit_rates
from mingru.report.frame import tabulate
from mingru.report.runs import local
from tests.report.synthetic import config, failure, outcome, started, write

main = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "report.py"))["main"]

CPU = {"device": "cpu", "versions": {"torch": "2.13.0+cpu"}}
GPU = {"device": "NVIDIA L4", "versions": {"torch": "2.13.1"}}
# task, mixer, settings, stratum, fits, finished, diverged, failed, killed, unreadable, superseded; fifty each
CELLS = [
    ("s3_hier", "givens", {}, CPU, 30, 44, 2, 1, 1, 1, 1),
    ("s3_hier", "givens", {"block_size": 4}, CPU, 12, 48, 0, 2, 0, 0, 0),
    ("s3_hier", "delta", {}, CPU, 11, 40, 5, 0, 5, 0, 0),
    ("s3_hier", "signed", {}, CPU, 0, 50, 0, 0, 0, 0, 0),
    ("s3_hier", "signed", {"coupled": True}, CPU, 0, 45, 0, 0, 0, 5, 0),
    ("s3_hier", "log", {}, CPU, 0, 0, 0, 25, 25, 0, 0),
    ("parity", "signed", {}, CPU, 50, 50, 0, 0, 0, 0, 0),
    ("parity", "signed", {"coupled": True}, CPU, 31, 47, 3, 0, 0, 0, 0),
    ("parity", "log", {}, CPU, 0, 49, 0, 0, 0, 0, 1),
    ("parity", "gru", {}, GPU, 49, 49, 1, 0, 0, 0, 0),
    ("parity", "givens", {}, GPU, 40, 46, 0, 1, 1, 1, 1),
    ("parity", "delta", {}, GPU, 1, 50, 0, 0, 0, 0, 0),
]
# R 4.2.2 on the counts above: fisher.test(...)$p.value, and p.adjust(..., "holm") over the pairs of each family
EXPECTED = {
    ("s3_hier", "cpu"): {
        ("givens block_size=8", "givens block_size=4"): (0.000155861862, 0.00090997582),
        ("givens block_size=8", "delta"): (0.000130209003, 0.00090997582),
        ("givens block_size=8", "signed coupled=false"): (1.44362249e-13, 1.44362249e-12),
        ("givens block_size=8", "signed coupled=true"): (1.33079591e-12, 1.19771632e-11),
        ("givens block_size=4", "delta"): (1, 1),
        ("givens block_size=4", "signed coupled=false"): (8.57642962e-05, 0.00068611437),
        ("givens block_size=4", "signed coupled=true"): (0.000236277769, 0.000945111077),
        ("delta", "signed coupled=false"): (0.000129996546, 0.00090997582),
        ("delta", "signed coupled=true"): (0.000487954355, 0.00146386306),
        ("signed coupled=false", "signed coupled=true"): (1, 1),
    },
    ("parity", "cpu"): {
        ("signed coupled=false", "signed coupled=true"): (4.59507058e-07, 4.59507058e-07),
        ("signed coupled=false", "log"): (1.9823306e-29, 5.94699181e-29),
        ("signed coupled=true", "log"): (9.16882298e-13, 1.8337646e-12),
    },
    ("parity", "NVIDIA L4"): {
        ("gru", "givens"): (0.0521637712, 0.0521637712),
        ("gru", "delta"): (4.95780884e-26, 1.48734265e-25),
        ("givens", "delta"): (2.01173313e-19, 4.02346626e-19),
    },
}
# a flag in many spellings
TRUE, FALSE = [True, 1, 1.0], [False, 0, None, math.nan]


def spelled(config, seed):
    """The same settings in another spelling: text, floats, lists of them, absent, null, not a number and false."""
    lengths = config["evaluation"] | {"lengths": [float(n) for n in config["evaluation"]["lengths"]]}
    changes = [
        {},
        {"steps": 1600.0, "lr": "3e-3", "evaluation": lengths},
        {"snap": None, "compile": False},
        {"recipe": math.nan, "mlp_expansion": 4.0, "stop": None},
    ]
    return {**config, **changes[seed % 4]}


def endings(fits, finished, diverged, failed, killed, unreadable):
    yield from (("finished", True) for _ in range(fits))
    yield from (("finished", False) for _ in range(finished - fits))
    for kind, n in (("diverged", diverged), ("failed", failed), ("killed", killed), ("unreadable", unreadable)):
        yield from ((kind, False) for _ in range(n))


def build(outputs):
    for task, mixer, settings, stratum, *counts, superseded in CELLS:
        for seed, (kind, fit) in enumerate(endings(*counts)):
            chosen = spelled(config(mixer, task, seed, settings=settings), seed)
            again = seed < superseded
            # One kind of double is an attempt before, the other the same attempt in another folder.
            attempt = 2 if again and mixer == "givens" else 1
            ending = {
                "finished": outcome(chosen, fit) | {"fit": TRUE[seed % 3] if fit else FALSE[seed % 4]},
                "diverged": outcome(chosen, False, status="diverged", accuracy={"64": math.nan, "256": None}),
                "failed": failure(),
                "killed": None,
                "unreadable": outcome(chosen, True),
            }[kind]
            place = write(outputs, started(chosen, attempt, **stratum), ending)
            if kind == "unreadable":
                (place / "result.json").write_text((place / "result.json").read_text()[:200])
            if attempt == 2:
                write(outputs, started(chosen, 1, **stratum), failure(), suffix="-a1")
            elif again:
                write(outputs / "moved", started(chosen, 1, **stratum, started_at="2025-12-31"), outcome(chosen, True))


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    made = tmp_path_factory.mktemp("outputs")
    build(made)
    return made


@pytest.fixture(scope="module")
def counted(outputs):
    source = local.read(outputs)
    runs = tabulate(source.runs)
    return source, runs, fit_rates(runs)


def test_every_started_run_is_in_exactly_one_cell(counted):
    source, runs, rates = counted
    assert len(source.runs) == len(runs) == 600
    assert len(rates) == 12
    assert rates[["finished", "diverged", "failed", "missing", "superseded"]].to_numpy().sum() == 600


def settings_of(row):
    layer = json.loads(row.arm)["layers"][1]
    return layer["mixer"], layer.get("coupled"), layer.get("block_size")


def test_each_cell_has_the_counts_that_were_made(counted):
    rates = {(row.task, *settings_of(row)): row for row in counted[2].itertuples()}
    for task, mixer, settings, stratum, fits, finished, diverged, failed, killed, unreadable, superseded in CELLS:
        cell = rates[task, mixer, settings.get("coupled"), settings.get("block_size", 8 if mixer == "givens" else None)]
        assert cell.stratum.endswith(f"torch 2.13, {stratum['device']}")
        assert (cell.fits, cell.n) == (fits, finished + diverged)
        assert (cell.diverged, cell.failed, cell.missing, cell.superseded) == (diverged, failed, killed + unreadable, superseded)


def test_every_p_holds_to_six_digits(counted):
    _, runs, rates = counted
    found = {(family.task, family.stratum_text.split(", ")[-1]): family for family in families(rates, runs)}
    assert found.keys() == EXPECTED.keys()
    for key, family in found.items():
        # A label that is longer than two columns bear becomes a hash, which its differences explain.
        names = {cell.label: f"{cell.mixer} {cell.differences}".strip() for cell in family.each}
        compared = [
            pair for pair in compare([Count(cell.label, cell.fits, cell.n) for cell in family.each]) if pair.first.n and pair.second.n
        ]
        p = {frozenset((names[pair.first.label], names[pair.second.label])): (pair.p, pair.p_holm) for pair in compared}
        expected = {frozenset(pair): values for pair, values in EXPECTED[key].items()}
        assert p.keys() == expected.keys()
        for pair, values in expected.items():
            assert p[pair] == pytest.approx(values, rel=1e-7)


def test_what_r_says_is_what_scipy_says_of_the_counts_by_hand():
    table = [[30, 46 - 30], [12, 48 - 12]]
    assert fisher_exact(table).pvalue == pytest.approx(
        EXPECTED["s3_hier", "cpu"]["givens block_size=8", "givens block_size=4"][0], rel=1e-7
    )
    table = [[49, 1], [40, 6]]
    assert fisher_exact(table).pvalue == pytest.approx(EXPECTED["parity", "NVIDIA L4"]["gru", "givens"][0], rel=1e-7)


def test_pooling_takes_a_flag_and_puts_the_strata_of_a_task_together(counted, outputs, capsys):
    runs = tabulate(counted[0].runs, pool=True)
    assert sorted(len(family.cells) for family in families(fit_rates(runs), runs)) == [6, 6]
    assert main(["--no-pictures", "--outputs", str(outputs)]) == 0
    text = capsys.readouterr().out
    assert "597 runs of 12 cells" in text
    assert "3 more are superseded" in text
    assert "Holm's correction over 10 comparisons" in " ".join(text.split())
