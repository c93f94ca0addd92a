"""Records changed at random: every run is still counted once, and nothing ends in a traceback."""

from __future__ import annotations

import copy
import json
import random

import pytest

from mingru.report import assemble
from mingru.report.fit_rate import fit_rates
from mingru.report.frame import tabulate
from mingru.report.runs import local
from tests.report.synthetic import config, failure, outcome, started, write

VALUES = [None, float("nan"), float("inf"), "NaN", "", [], {}, [1], {"a": 1}, -1, 0, 1e308, True, "x" * 50, "<b>", "$x$", [[None]],
          {"64": None}, {"64": "NaN"}, {"x": 0.5}, {"64": [1]}, "é\u2028|", -0.0, 10**30, "1e5"]  # fmt: skip


def change(record, chance):
    """Delete or replace one value somewhere in the record."""
    while True:
        key = chance.choice(list(record))
        if isinstance(record[key], dict) and record[key] and chance.random() < 0.5:
            record = record[key]
        elif chance.random() < 0.2:
            return record.pop(key)
        else:
            record[key] = copy.deepcopy(chance.choice(VALUES))
            return None


def sweep(outputs, chance):
    for mixer in ("givens", "log"):
        for seed in range(chance.choice([1, 3, 9])):
            chosen = config(mixer, seed=seed)
            endings = [outcome(chosen, chance.random() < 0.5), failure(), None, outcome(chosen, False, status="diverged")]
            for file in write(outputs, started(chosen), chance.choice(endings)).glob("*.json"):
                record = json.loads(file.read_text())
                for _ in range(chance.choice([0, 1, 2, 4])):
                    change(record, chance)
                file.write_text(json.dumps(record))


@pytest.mark.parametrize("trial", range(25))
def test_any_record_is_counted_once_and_reported(tmp_path, trial):
    sweep(tmp_path, random.Random(trial))
    source = local.read(tmp_path)
    assemble.report(source, assemble.Request(tmp_path / "report", tmp_path / "report.md", pictures=trial % 8 == 0))
    rates = fit_rates(tabulate(source.runs))
    assert rates[["finished", "diverged", "failed", "missing", "superseded"]].to_numpy().sum() == len(source.runs)
    assert (tmp_path / "report" / "index.html").stat().st_size > 10_000
