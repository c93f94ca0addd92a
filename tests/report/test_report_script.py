"""scripts/report.py, as a user calls it."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.synthetic import config, outcome, started, write

PROJECT = Path(__file__).resolve().parents[2]
main = runpy.run_path(str(PROJECT / "scripts" / "report.py"))["main"]


def sweep(outputs, mixer, fits, n, **changes):
    for seed in range(n):
        chosen = config(mixer, seed=seed, **changes)
        write(outputs, started(chosen), outcome(chosen, seed < fits))


def shown(capsys, *options):
    assert main(["--no-pictures", *(str(option) for option in options)]) == 0
    return capsys.readouterr().out


@pytest.fixture
def outputs(tmp_path):
    sweep(tmp_path, "givens", 25, 36)
    sweep(tmp_path, "delta", 10, 36)
    return tmp_path


def test_the_report_counts_fits_and_tests_them(outputs, capsys):
    text = shown(capsys, "--outputs", outputs)
    assert "| givens | 25/36 | 0.694 | 0.519 to 0.837 |" in text
    assert "| givens | 25/36 | delta   | 10/36 |  8.35e-4 | 8.35e-4 | differ" in text
    assert "Holm's correction over 1 comparison." in text
    assert "fresh accuracy at length 128 at or above 0.99" in text


def test_the_report_is_written_where_it_is_wanted(outputs, tmp_path, capsys):
    text = shown(capsys, "--outputs", outputs, "--full")
    assert (outputs / "report" / "report.md").read_text(encoding="utf-8") in text
    assert "odds ratio" in text
    assert "odds ratio" not in shown(capsys, "--outputs", outputs)
    shown(capsys, "--outputs", outputs, "--out", tmp_path / "deep" / "mine.md")
    assert (tmp_path / "deep" / "mine.md").is_file()


def test_reading_the_report_again_changes_nothing(outputs, capsys):
    assert shown(capsys, "--outputs", outputs) == shown(capsys, "--outputs", outputs)


def test_a_baseline_leaves_out_the_other_pairs(outputs, capsys):
    sweep(outputs, "log", 0, 36)
    assert "all pairs of 3 cells" in shown(capsys, "--outputs", outputs)
    text = shown(capsys, "--outputs", outputs, "--baseline", "log")
    assert "every cell against log" in text
    assert "Holm's correction over 2 comparisons" in text
    assert "| delta   |" not in text


def test_an_unknown_baseline_is_refused_with_the_nearest_name(outputs, capsys):
    assert main(["--outputs", str(outputs), "--baseline", "givns"]) == 1
    assert "did you mean givens?" in capsys.readouterr().err


def test_an_ambiguous_baseline_is_refused_with_the_labels(outputs, capsys):
    sweep(outputs, "givens", 1, 2, settings={"block_size": 4})
    assert main(["--outputs", str(outputs), "--baseline", "givens"]) == 1
    assert "givens block_size=4; givens block_size=8" in "; ".join(sorted(capsys.readouterr().err.strip().split(": ")[-1].split("; ")))
    assert "every cell against givens block_size=4" in shown(capsys, "--outputs", outputs, "--baseline", "givens block_size=4")


def test_protocols_and_strata_are_compared_apart_and_named(outputs, capsys):
    sweep(outputs, "givens", 1, 2, steps=800)
    text = shown(capsys, "--outputs", outputs)
    assert "s3_hier at length 64 (protocol A)" in text
    assert "s3_hier at length 64 (protocol B)" in text
    assert "Protocol A: steps 1600" in text


def test_too_few_seeds_are_said_to_be_too_few(tmp_path, capsys):
    sweep(tmp_path, "givens", 3, 3)
    sweep(tmp_path, "log", 0, 3)
    text = shown(capsys, "--outputs", tmp_path)
    assert "cannot reach .05 at this n" in text
    assert "more seeds are needed" in text


def test_a_cell_without_data_says_so(outputs, capsys):
    write(outputs, started(config("log")))
    text = shown(capsys, "--outputs", outputs)
    assert "no data" in text
    assert "2 pairs without data" in text
    assert "nan" not in text


def test_every_line_fits_a_terminal_of_120_columns(outputs, capsys):
    sweep(outputs, "delta", 1, 2, settings={"n_heads": 1, "d_k": 8, "d_v": 8})
    sweep(outputs, "log", 0, 2)
    text = shown(capsys, "--outputs", outputs)
    assert max(len(line) for line in text.replace(str(outputs), "outputs").splitlines()) <= 120


@pytest.mark.parametrize("missing", [True, False])
def test_no_runs_is_one_clear_line(tmp_path, capsys, missing):
    assert main(["--outputs", str(tmp_path / "none" if missing else tmp_path)]) == 1
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert str(tmp_path) in error


def test_check_without_a_second_source_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--check"])
    assert "--check needs --wandb, --wandb-files or --published" in capsys.readouterr().err


def test_the_report_starts_without_torch(outputs):
    code = (
        "import sys, runpy; sys.argv = ['report.py', '--no-pictures', '--outputs', sys.argv[1]]\n"
        "try: runpy.run_path('scripts/report.py', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "bad = {'torch', 'lightning', 'hydra', 'wandb'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(outputs)], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_runs_that_are_exact_are_counted_over_all_runs(tmp_path, capsys):
    """Two of three were measured, one of them is exact at 64 and not at 16,384; a cell of which none was has no row."""
    outputs = tmp_path / "outputs"
    sweep(outputs, "givens", 1, 3)
    sweep(outputs, "log", 0, 2)
    places = sorted(outputs.glob("*/*givens*/s*"))
    counts = {"sequences": 2048, "tokens": 1, "wrong": 0, "first_wrong": None}
    found = [{"64": counts, "16384": counts}, {"64": counts}]
    for place, measured, exact_at in zip(places, found, ([64], []), strict=False):
        (place / "exactness.json").write_text(json.dumps({"measured": measured, "exact_at": exact_at}))
    text = shown(capsys, "--outputs", outputs)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    (at,) = [number for number, row in enumerate(rows) if row and row[0] == "exact, as learned"]
    assert rows[at] == ["exact, as learned", "measured", "@64", "@16,384"]
    assert rows[at + 2] == ["givens", "2 of 3", "1/3", "0/3"]
    assert not rows[at + 3]
