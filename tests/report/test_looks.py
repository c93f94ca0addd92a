"""Readings are recorded, and seeds added after one are told."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from mingru.report import looks, sequential
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
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Seeds were added after earlier results were read (givens at 12 runs), which the p-values do not account for." in page
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


def rows(text, header):
    """The cells of a table's rows, from the line of its header on."""
    lines = text[text.index(header) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


def test_a_stopped_sweeps_fixed_p_values_are_marked_beside_the_sequential_one(tmp_path, capsys):
    sweep(tmp_path, "givens", 9, range(9), stop="significant")
    sweep(tmp_path, "log", 0, range(8), stop="significant")
    main(["--no-pictures", "--full", "--outputs", str(tmp_path)])
    text = capsys.readouterr().out
    words = " ".join(text.split())
    assert "Run under stop=significant: givens (9 runs), log (8 runs)." in words
    assert "The sequential test above decides." in words
    evidence = sequential.evidence([True] * 8, [False] * 8)[-1]
    decided = dict(zip(*rows(text, "| mixer  | fits | against | fits | pairs |"), strict=True))
    assert decided["Fisher p"] == f"{fisher_exact([[9, 0], [0, 8]]).pvalue:.2e}~".replace("e-05", "e-5")
    assert float(decided["sequential p"]) == float(decided["Holm p"]) == pytest.approx(1 / evidence, rel=5e-3)
    tests = dict(zip(*rows(text, "| mixer  | against | Fisher p |"), strict=True))
    assert [tests[name].endswith("~") for name in ("Fisher p", "Boschloo p", "log-rank p", "sequential p")] == [True, True, True, False]
    page = (tmp_path / "report" / "index.html").read_text()
    assert "Seeds of givens, log were started in order, and no more of a mixer once all its comparisons were significant" in page
    assert "the sequential test decides in place of Fisher&#39;s" in page


def test_other_fit_rules_are_judged_by_the_test_that_decides(tmp_path, capsys):
    """Four of five against none of five, as a stricter bar has it, differ by Fisher's test and not by the sequential one."""
    for outputs, stop, holds in ((tmp_path / "fixed", None, "yes"), (tmp_path / "stopped", "significant", "not by fresh 0.995")):
        for seed in range(5):
            for mixer in ("givens", "log"):
                chosen = config(mixer, seed=seed, stop=stop)
                fresh = 0.5 if mixer == "log" else 0.996 if seed else 0.992
                selection = {"step": 1100, "accuracy": fresh, "fresh_accuracy": fresh}
                write(outputs, started(chosen), outcome(chosen, mixer == "givens", selection=selection))
        main(["--no-pictures", "--full", "--outputs", str(outputs)])
        (_, row) = rows(capsys.readouterr().out, "| mixer  | against |   n | fit |")
        assert row[-1] == holds


def test_p_values_of_the_sensitivity_tables_are_marked_after_a_look_too(tmp_path, capsys):
    for seeds in (range(6), range(6, 12)):
        for mixer, fits in (("givens", 12), ("log", 2)):
            sweep(tmp_path, mixer, fits, seeds)
        main(["--no-pictures", "--full", "--outputs", str(tmp_path)])
        text = capsys.readouterr().out
        tests = dict(zip(*rows(text, "| mixer  | against | Fisher p |"), strict=True))
        assert [tests[name].endswith("~") for name in ("Fisher p", "Boschloo p", "log-rank p")] == [seeds.start > 0] * 3
        assert "~" not in tests["sequential p"]
