"""Records that are committed: appended once, and counted as finished where cell, seed and code are the same."""

import shutil

import pytest

import train
from mingru.sweep import provenance, published, records
from mingru.sweep.request import Cell, Request
from scripts import publish
from tests.composed import tiny
from tests.sweep.command import results, summary, sweep


@pytest.fixture
def made(tmp_path):
    """A finished run's record, and the file that it was published in."""
    train.run(tiny(tmp_path / "outputs", "seed=3"))
    file = tmp_path / "data" / "study.jsonl"
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 0
    return next(iter(published.read(file).values())), file


def request(outputs, file, seed=3, **settings):
    config = train.resolve(tiny(outputs))[0] | {"published": str(file), "seed": seed, **settings}
    return Request((), Cell(None, config), seed)


def test_a_published_run_counts_as_finished_where_there_is_none(tmp_path, made):
    record, file = made
    wanted = request(tmp_path / "elsewhere", file)
    assert published.restore([wanted]) == 1
    assert records.read_json(wanted.directory / records.RESULT) == record
    assert published.restore([wanted]) == 0


@pytest.mark.parametrize("other", [{"seed": 4}, {"steps": 7}, {"rerun": "all"}, {"rerun": "stale"}])
def test_another_seed_or_cell_or_a_rerun_is_trained(tmp_path, made, other):
    assert published.restore([request(tmp_path / "elsewhere", made[1], **other)]) == 0


def test_a_run_of_other_code_is_trained(tmp_path, made, monkeypatch):
    monkeypatch.setattr(provenance, "code_digest", lambda: "0123456789ab")
    assert published.restore([request(tmp_path / "elsewhere", made[1])]) == 0


def test_a_run_that_was_started_here_is_left_alone(tmp_path, made):
    wanted = request(tmp_path / "elsewhere", made[1])
    wanted.directory.mkdir(parents=True)
    assert published.restore([wanted]) == 0
    assert not list(wanted.directory.iterdir())


def test_publishing_twice_adds_nothing_and_says_nothing_of_this_machine(tmp_path, made, capsys):
    record, file = made
    before = file.read_bytes()
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 0
    assert "0 new, 1 in all" in capsys.readouterr().out
    assert file.read_bytes() == before
    assert record["config"]["outputs"] == "outputs"
    assert str(tmp_path) not in file.read_text()


def test_a_file_that_is_no_record_is_named_with_its_line(tmp_path, made, capsys):
    file = made[1]
    file.write_text(file.read_text() + '{"cell": "0"}\n')
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 1
    assert "study.jsonl: line 2 is no record" in capsys.readouterr().err
    assert publish.main([str(file), "--outputs", str(tmp_path / "nowhere")]) == 1


def test_a_hardened_run_is_published_with_its_certificate(tmp_path, made):
    record, _ = made
    file = tmp_path / "hardened.jsonl"
    folder = tmp_path / "hardened" / "s3-hardened"
    records.write_json(folder / records.RESULT, record | {"cell": "0123abcd", "hardened": {"seed": 3}})
    records.write_json(folder / "certificate.json", {"exact_at": [64]})
    assert publish.main([str(file), "--outputs", str(folder)]) == 0
    (kept,) = published.read(file).values()
    assert (kept["hardened"], kept["certificate"]) == ({"seed": 3}, {"exact_at": [64]})


@pytest.mark.slow
def test_a_sweep_on_another_machine_trains_only_what_is_not_published(tmp_path):
    words = ("mixer=signed", "extractor=none", "task=parity", "-m")
    assert sweep(tmp_path / "outputs", *words, "seed=0-2")[0] == 0
    file = tmp_path / "study.jsonl"
    publish.main([str(file), "--outputs", str(tmp_path / "outputs")])
    wanted = results(tmp_path / "outputs")
    shutil.move(tmp_path / "outputs", tmp_path / "lost")
    code, output = sweep(tmp_path / "outputs", *words, "seed=0-3", f"published={file}")
    assert (code, summary(output)) == (0, "4 runs: 4 finished, 0 diverged, 0 failed, 0 missing")
    assert "3 of the runs are taken from there" in output
    assert len(list((tmp_path / "outputs").rglob("weights.pt"))) == 1
    assert {seed: record for seed, record in results(tmp_path / "outputs").items() if seed in wanted} == wanted
    code, output = sweep(tmp_path / "outputs", *words, "seed=0", f"published={tmp_path / 'lost'}")
    assert code != 0
