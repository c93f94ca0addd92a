"""Rows as a reader sees them."""

from __future__ import annotations

import json

import pytest

from scripts.benchmarks import plot, table
from scripts.benchmarks.row import Point, Row, at_least, at_most, below

MACHINE = {"cpu": "A CPU", "cores": 2, "torch": "2.13"}
REACHED = Row("step, package / ours", [8.1, 8.4, 7.9], seconds=(0.4, 0.05), threads=2, reach=at_least(8))
MISSED = Row("step over its floor", [1.31], seconds=(0.05, 0.04), threads=2, reach=at_most(1.2))
FAILED = Row("op / ours", reach=at_least(60), note="the process ended with code -9", failed=True)
BESIDE = Row("nn.LSTM / nn.GRU", [1.2, 1.4], seconds=(2e-5, 1.5e-5), threads=2)


@pytest.mark.parametrize(("reach", "holds", "fails"), [(at_least(2), [2, 3], [1.9]), (at_most(2), [2, 1], [2.1]), (below(1), [0.9], [1.0])])
def test_a_bound_holds_up_to_its_edge(reach, holds, fails):
    assert all(map(reach.holds, holds))
    assert not any(map(reach.holds, fails))


def test_the_median_decides_and_the_spread_is_shown():
    text = table.grid([REACHED, MISSED])
    assert "| step, package / ours | 8.1 | 7.9 to 8.4 | 3 | 400 ms / 50 ms | 2 | ≥ 8 | reached |" in text
    assert "| step over its floor | 1.31 | 1.31 to 1.31 | 1 | 50 ms / 40 ms | 2 | ≤ 1.2 | not reached |" in text


def test_a_row_that_could_not_be_measured_says_why_and_counts_as_not_reached():
    text = table.markdown([REACHED, MISSED, FAILED, BESIDE], MACHINE, {}, quick=False)
    assert "To reach: 1 of 3 rows do" in text
    assert "not measured: the process ended with code -9" in text
    assert text.index("Beside them") < text.index("nn.LSTM")
    assert "20 µs / 15 µs" in text


def test_the_machine_and_the_peers_are_named():
    text = table.markdown([REACHED], MACHINE, {"mingru-scans": "0.2.0"}, quick=False)
    assert text.startswith("cpu: A CPU; cores: 2; torch: 2.13.")
    assert "Peers: mingru-scans 0.2.0." in text
    assert "No measurement" not in text


def test_a_quick_run_says_that_it_measures_nothing():
    assert table.markdown([BESIDE], MACHINE, {}, quick=True).startswith("**Made with --quick")


def test_the_record_holds_every_pair():
    rows = json.loads(table.record([REACHED, FAILED], MACHINE, {}, quick=False))["rows"]
    assert rows[0]["values"] == [8.1, 8.4, 7.9]
    assert (rows[0]["median"], rows[0]["low"], rows[0]["high"], rows[0]["reached"]) == (8.1, 7.9, 8.4, True)
    assert (rows[1]["median"], rows[1]["reached"], rows[1]["failed"]) == (None, None, True)


def test_the_table_takes_its_place_in_a_document(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n", encoding="utf-8")
    table.put_into(document, "new")
    assert document.read_text(encoding="utf-8") == f"before\n{table.BEGIN}\n\nnew\n{table.END}\nafter\n"
    document.write_text("no place", encoding="utf-8")
    with pytest.raises(ValueError, match="wanted the marks"):
        table.put_into(document, "new")


def test_a_plot_has_a_curve_per_name_and_a_point_per_length(tmp_path):
    rows = [
        Row("a", [1.0], seconds=(0.002, 0.004), points=(Point("length", "ours", n, 0, 1000), Point("length", "nn.GRU", n, 1, 1000)))
        for n in (64, 256)
    ]
    assert plot.curves(rows, "length") == {"ours": {64: 2.0, 256: 2.0}, "nn.GRU": {64: 4.0, 256: 4.0}}
    assert [file.name for file in plot.draw(rows, tmp_path)] == ["time_against_length.png"]
    assert (tmp_path / "time_against_length.png").stat().st_size > 1000
