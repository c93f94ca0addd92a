"""What the suites ask for exists, and asks what the issue's table asks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.benchmarks import measures
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites import SUITES
from scripts.benchmarks.suites.shapes import Shapes

WORKLOADS = Path(measures.__file__).parent / "workloads"
ALL = {name: rows(Shapes(), True) for name, rows in SUITES.items()}
# Suite, a piece of the row's text, what it is to reach.
TABLE = [
    ("steps", "[signed, givens], T=64: published package / ours", "≥ 8"),
    ("steps", "[signed, givens], T=64: published package / ours compiled", "≥ 10"),
    ("steps", "one layer of givens, T=64: published package / ours", "≥ 12"),
    ("steps", "one layer of rotation, T=64: published package / ours", "≥ 3.8"),
    ("steps", "one layer of delta, T=64: published package / ours", "≥ 2.5"),
    ("steps", "one layer of log, T=64: published package / ours", "≥ 2.3"),
    ("steps", "one layer of signed, T=64: published package / ours", "≥ 1.4"),
    ("steps", "[signed, givens], T=64: ours / its floor", "≤ 1.2"),
    *[("steps", f"one layer of {name}, T=64: ours / its floor", "≤ 1.25") for name in ("log", "signed", "rotation", "givens")],
    ("steps", "one layer of delta, T=64: ours / its floor", "≤ 2"),
    ("steps", "one layer of givens, T=4096, B=1: published package / ours", "≥ 20"),
    ("ops", "givens_scan alone, T=64: published package's matrix_affine_scan / ours", "≥ 60"),
    ("ops", "givens_scan alone, T=1024, B=32: published package's matrix_affine_scan / ours", "≥ 100"),
    *[
        ("lengths", f"{name} layer alone, T={length}: ours / nn.GRU", "≤ 0.6")
        for name in ("log", "signed", "rotation", "givens")
        for length in (64, 256, 1024)
    ],
    *[("lengths", f"delta layer alone, T={length}: ours / nn.GRU", "≤ 1") for length in (64, 256, 1024)],
    *[("lengths", f"{op}_scan alone, time per token", "≤ 1.2") for op in ("diagonal", "rotation", "givens", "block", "delta")],
    *[("lengths", f"one layer of {name}, T=4096, B=16 / what", "≤ 1.5") for name in ("log", "signed", "rotation", "givens", "delta")],
    ("states", "givens_scan alone, T=64, state 64 to 4,096", "≤ 1.1"),
    *[("streaming", f"one {name} layer, tokens to logits: tokens per second, ours / published", "≥ 2") for name in ("log", "givens")],
    ("tasks", "a batch of s3, T=64, B=128", "≤ 0.05"),
    ("tasks", "a batch of s3, T=1024, B=128", "≤ 0.1"),
    ("sweep", "under Lightning", "< 1"),
    ("sweep", "in a reused worker", "≤ 0.7"),
    ("sweep", "runs per hour", "≥ 1.7"),
]


def works(measure: measures.Measure) -> list[Work]:
    return [value for value in vars(measure).values() if isinstance(value, Work)]


def arguments_of(work: Work) -> set[str]:
    """Of the workload's function, read from its source: importing it would need the package that it is about."""
    tree = ast.parse((WORKLOADS / f"{work.module}.py").read_text(encoding="utf-8"))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == work.function)
    return {argument.arg for argument in function.args.args}


@pytest.mark.parametrize(("suite", "text", "reach"), TABLE)
def test_every_number_to_reach_has_its_row(suite, text, reach):
    found = [row for row in ALL[suite] if text in row.measure and row.reach]
    exact = [row for row in found if row.measure.endswith(text)]
    assert {f"{row.reach.relation} {row.reach.value:g}" for row in exact or found} == {reach}


@pytest.mark.parametrize("peers", [True, False])
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("suite", SUITES)
def test_every_workload_exists_and_takes_what_it_is_given(suite, quick, peers):
    rows = SUITES[suite](Shapes(quick), peers)
    assert rows
    assert len({row.measure for row in rows}) == len(rows)
    for work in (work for row in rows for work in works(row)):
        assert work.settings.keys() <= arguments_of(work), work
        assert peers or work.process != "peers"


def test_rows_against_other_packages_come_with_peers_only():
    assert sum(len(rows(Shapes(), False)) for rows in SUITES.values()) < sum(map(len, ALL.values()))
