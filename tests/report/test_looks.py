"""Readings are recorded, and seeds added after one are told."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

from mingru.report import looks
from mingru.report.families import families
from mingru.report.fit_rate import fit_rates
from tests.report.synthetic import cell_of, config, outcome, run, started, table, write

main = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "report.py"))["main"]


def found(*runs):
    frame = table(*runs)
    return families(fit_rates(frame), frame)


def test_a_reading_is_recorded_once(tmp_path):
    file = tmp_path / "report" / "looks.jsonl"
    once = found(*cell_of(3, 5), *cell_of(1, 5, "log"))
    looks.record(file, once)
    looks.record(file, once)
    (look,) = looks.load(file)
    assert sorted(look.started.values()) == [5, 5]


def test_seeds_added_after_a_reading_are_seen(tmp_path):
    file = tmp_path / "looks.jsonl"
    looks.record(file, found(*cell_of(3, 5), *cell_of(1, 5, "log")))
    (later,) = found(*cell_of(3, 5), *cell_of(1, 8, "log"))
    assert looks.seen_before(looks.load(file), later) == {"log": [5]}


def test_runs_that_were_already_started_are_not_added_seeds(tmp_path):
    file = tmp_path / "looks.jsonl"
    pending = [run(seed=seed, status="missing") for seed in (5, 6)]
    looks.record(file, found(*cell_of(3, 5), *pending, *cell_of(1, 5, "log")))
    (later,) = found(*cell_of(3, 7), *cell_of(1, 5, "log"))
    assert looks.seen_before(looks.load(file), later) == {}


def test_a_cell_without_a_comparison_is_no_look(tmp_path):
    file = tmp_path / "looks.jsonl"
    looks.record(file, found(*cell_of(3, 5)))
    assert looks.load(file) == []


def test_lines_that_cannot_be_read_are_passed_over(tmp_path):
    file = tmp_path / "looks.jsonl"
    file.write_text('{"at": "now", "started": {"a": 3}}\n{"at\n[1]\nnull\n')
    assert [look.started for look in looks.load(file)] == [{"a": 3}]


def sweep(outputs, mixer, fits, seeds, **changes):
    for seed in seeds:
        chosen = config(mixer, seed=seed, **changes)
        write(outputs, started(chosen), outcome(chosen, seed < fits))


def test_the_report_marks_p_values_of_cells_that_grew(tmp_path, capsys):
    sweep(tmp_path, "givens", 25, range(12))
    sweep(tmp_path, "log", 0, range(12))
    main(["--no-pictures", "--outputs", str(tmp_path)])
    assert "~" not in capsys.readouterr().out
    sweep(tmp_path, "givens", 25, range(12, 36))
    main(["--no-pictures", "--outputs", str(tmp_path)])
    text = capsys.readouterr().out
    assert "Seeds were added after a report was read (givens at 12 runs)" in " ".join(text.split())
    assert "~ |" in text
    assert len((tmp_path / "report" / "looks.jsonl").read_text().splitlines()) == 2
    assert all(json.loads(line)["at"] for line in (tmp_path / "report" / "looks.jsonl").read_text().splitlines())


def test_a_sweep_that_stops_when_significant_is_judged_by_the_sequential_p(tmp_path, capsys):
    sweep(tmp_path, "givens", 9, range(9), stop="significant")
    sweep(tmp_path, "log", 0, range(9), stop="significant")
    main(["--no-pictures", "--outputs", str(tmp_path)])
    text = capsys.readouterr().out
    assert "sequential p" in text
    assert "because the sweep was told to stop when significant" in " ".join(text.split())
    assert "| differ" in text
