"""The page, its tables' exports and its pictures, without a browser."""

from __future__ import annotations

import csv
import io
import json
import runpy
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mingru.report import assemble, plots
from mingru.report.document import Table
from mingru.report.families import families
from mingru.report.fit_rate import fit_rates
from mingru.report.methods import methods
from mingru.report.page import exports
from mingru.report.plots.style import marks
from mingru.report.runs import local
from tests.report.synthetic import cell_of, config, failure, outcome, run, started, table, write

main = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "report.py"))["main"]
NASTY = "<script>alert('$x$')</script> & \"givens\""


def family(*runs):
    frame = table(*runs)
    (found,) = families(fit_rates(frame), frame)
    return found


def request(folder, **changes):
    return assemble.Request(folder, folder / "report.md", **changes)


def nasty_sweep(outputs):
    """Text from configs and failures that would break a page that trusts it."""
    for seed in range(3):
        chosen = config("givens", seed=seed, settings={"note": NASTY})
        write(outputs, started(chosen), outcome(chosen, seed < 2))
        other = config("givens", seed=seed, settings={"note": "plain"})
        write(outputs, started(other), outcome(other, False))
    lost = config("log", seed=0)
    (write(outputs, started(lost), failure(f"RuntimeError: {NASTY}")) / "train.log").write_text(f"step 1\n{NASTY}\n")


class Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.sources = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href") and value]


@pytest.fixture
def page(tmp_path):
    nasty_sweep(tmp_path)
    assemble.report(local.read(tmp_path), request(tmp_path / "report"))
    return (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_the_page_needs_no_other_file(page):
    found = Text()
    found.feed(page)
    assert "link" in found.tags
    assert all(source.startswith(("#", "data:")) for source in found.sources)
    assert "default-src 'none'" in page
    assert "@import" not in page


def test_text_from_configs_failures_and_logs_is_escaped(page):
    found = Text()
    found.feed(page)
    # the page's own, and the runs as data
    assert found.tags.count("script") == 2
    assert "&lt;script&gt;alert" in page
    assert "\\u003cscript\\u003ealert" in page


def test_every_run_is_on_the_page_with_config_log_and_provenance(page):
    listing = json.loads(page.split('id="listing">')[1].split("</script>")[0])
    assert len(listing["rows"]) == 7
    assert len(listing["configs"]) == 3
    for cells, config_number, provenance, facts, _ in listing["rows"]:
        assert len(cells) == len(listing["headers"])
        assert '"lr": 0.003' in listing["configs"][config_number]
        assert "c0ffee" in listing["provenances"][provenance]
        assert facts.startswith("from: ")
    assert [log for *_, log in listing["rows"] if log] == [f"step 1\n{NASTY}\n"]


def test_the_methods_can_be_pasted(tmp_path):
    frame = table(*cell_of(25, 36), *cell_of(10, 36, "delta"), run(seed=40, status="diverged"))
    text = " ".join(methods(frame, families(fit_rates(frame), frame)))
    for part in (
        "36 to 37 counted seeds",
        "steps 1600",
        "Fisher's exact test",
        "Holm's",
        "1 run diverged",
        "torch 2.13",
        "94,694 parameters",
    ):
        assert part in text


@pytest.fixture
def odd_table():
    return Table("odd", "", ["a,b", "n_%"], [['say "hi", all', "1\\2"], ["x & y", "$3#"]], [False, True])


def test_csv_reads_back(odd_table):
    assert list(csv.reader(io.StringIO(exports.csv_text(odd_table)))) == [odd_table.headers, *odd_table.rows]


def test_latex_escapes_what_latex_would_read(odd_table):
    lines = exports.latex(odd_table).splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[2] == r"a,b & n\_\% \\"
    assert lines[5] == r"x \& y & \$3\# \\"


def test_a_family_with_everything_has_six_pictures_of_clean_svg():
    drawn = plots.drawn(family(*cell_of(6, 9), *cell_of(1, 9, "delta"), run(seed=20, status="diverged")), "f")
    assert [name for name, _, _ in drawn] == ["f-fit_rates", "f-scores", "f-odds_ratios", "f-steps_to_fit", "f-positions", "f-validation"]
    ids = [element.get("id") for _, _, text in drawn for element in ElementTree.fromstring(text).iter() if element.get("id")]
    assert len(ids) == len(set(ids))


def test_pictures_leave_out_what_has_no_data():
    assert list(plots.pictures(family(run(status="failed"), run(seed=1, status="missing")))) == []
    names = [name for name, _, _ in plots.pictures(family(*cell_of(0, 4), *cell_of(0, 4, "log")))]
    assert "odds_ratios" not in names
    assert "steps_to_fit" not in names


def test_a_dollar_sign_in_a_label_is_drawn_as_it_is():
    runs = [*cell_of(2, 3, settings={"note": "$x^$"}), *cell_of(1, 3, settings={"note": "y"})]
    assert any("$x^$" in text for _, _, text in plots.drawn(family(*runs), "f"))


def test_drawing_again_gives_the_same_file():
    runs = family(*cell_of(2, 9), *cell_of(1, 9, "log"))
    assert plots.drawn(runs, "f") == plots.drawn(runs, "f")


def test_lines_are_told_apart_without_colour():
    assert len({(mark["color"], mark["linestyle"]) for mark in marks(28)}) == 28
    assert len({mark["linestyle"] for mark in marks(4)}) == 4


def test_many_runs_are_drawn_on_request_only(tmp_path, monkeypatch):
    nasty_sweep(tmp_path)
    monkeypatch.setattr(assemble, "MOST_DRAWN", 3)
    source = local.read(tmp_path)
    assemble.report(source, request(tmp_path / "report"))
    assert not (tmp_path / "report" / "plots").exists()
    assemble.report(source, request(tmp_path / "report", pictures=True))
    assert list((tmp_path / "report" / "plots").glob("*.svg"))


def test_a_watched_page_reloads_itself_and_withholds_comparisons(tmp_path):
    nasty_sweep(tmp_path)
    assemble.report(local.read(tmp_path), request(tmp_path / "report", refresh=7))
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert '<meta http-equiv="refresh" content="7">' in page
    assert "Withheld while watching" in page
    assert "Fisher p" not in page
    assert not (tmp_path / "report" / "looks.jsonl").exists()


def test_watching_waits_for_runs_and_ends_with_control_c(tmp_path, monkeypatch, capsys):
    waits = iter([lambda: nasty_sweep(tmp_path), None])

    def sleep(_seconds):
        if (action := next(waits)) is None:
            raise KeyboardInterrupt
        action()

    monkeypatch.setattr("time.sleep", sleep)
    assert main(["--outputs", str(tmp_path), "--watch", "3"]) == 0
    shown = capsys.readouterr()
    assert "no runs found" in shown.err
    assert "7 runs of 3 cells" in shown.out


def test_the_record_of_readings_is_beside_the_page(tmp_path):
    nasty_sweep(tmp_path)
    assemble.report(local.read(tmp_path), request(tmp_path / "report"))
    assert json.loads((tmp_path / "report" / "looks.jsonl").read_text())["started"]
