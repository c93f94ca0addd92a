"""Reading run folders, whatever state they were left in."""

from __future__ import annotations

import pytest

from mingru.report.fit_rate import fit_rates
from mingru.report.frame import tabulate
from mingru.report.runs import local
from mingru.report.runs.record import RunsError
from tests.report.synthetic import config, failure, folder, outcome, started, write


def one(outputs, fit=True, **changes):
    chosen = config(**changes)
    return write(outputs, started(chosen), outcome(chosen, fit))


def test_a_folder_with_a_result_is_a_finished_run(tmp_path):
    one(tmp_path)
    (run,) = local.read(tmp_path).runs
    assert (run.status, run.values["fit"], run.problem) == ("finished", True, None)


def test_a_folder_with_a_failure_is_a_failed_run(tmp_path):
    write(tmp_path, started(config()), failure("RuntimeError: boom"))
    (run,) = local.read(tmp_path).runs
    assert (run.status, run.failure) == ("failed", "RuntimeError: boom")


def test_a_killed_run_has_started_only_and_is_missing(tmp_path):
    write(tmp_path, started(config()))
    (run,) = local.read(tmp_path).runs
    assert (run.status, run.problem) == ("missing", None)


@pytest.mark.parametrize("content", [b"", b'{"task": "s3_hi', b"[1, 2]", b"\xff\xfe\x00", b"null"])
def test_an_unreadable_result_is_named_and_missing(tmp_path, content):
    file = one(tmp_path) / "result.json"
    file.write_bytes(content)
    (run,) = local.read(tmp_path).runs
    assert run.status == "missing"
    assert str(file) in run.problem
    assert "\n" not in run.problem


def test_a_run_whose_every_record_is_unreadable_stays_in_its_cell(tmp_path):
    one(tmp_path, seed=0)
    lost = one(tmp_path, seed=1)
    for file in lost.iterdir():
        file.write_text("{")
    (cell,) = fit_rates(tabulate(local.read(tmp_path).runs)).itertuples()
    assert (cell.n, cell.missing) == (1, 1)


def test_a_lone_run_whose_every_record_is_unreadable_is_still_counted(tmp_path):
    for file in one(tmp_path).iterdir():
        file.write_text("{")
    (cell,) = fit_rates(tabulate(local.read(tmp_path).runs)).itertuples()
    assert (cell.task, cell.n, cell.missing) == ("s3_hier", 0, 1)


def test_an_older_attempt_in_a_folder_beside_is_superseded(tmp_path):
    chosen = config()
    write(tmp_path, started(chosen, attempt=1), failure(), suffix="-a1")
    write(tmp_path, started(chosen, attempt=2), outcome(chosen, True))
    (cell,) = fit_rates(tabulate(local.read(tmp_path).runs)).itertuples()
    assert (cell.fits, cell.n, cell.failed, cell.superseded) == (1, 1, 0, 1)


def test_numbers_that_are_not_finite_are_read_as_null(tmp_path):
    place = one(tmp_path)
    text = (place / "result.json").read_text().replace('"fresh_accuracy": 0.996', '"fresh_accuracy": NaN')
    (place / "result.json").write_text(text)
    (row,) = tabulate(local.read(tmp_path).runs).itertuples()
    assert row.fresh is None or row.fresh != row.fresh
    assert row.fit


def test_lengths_are_sorted_as_numbers(tmp_path):
    chosen = config()
    scores = {str(n): 0.5 for n in (1024, 64, 512, 256)}
    write(tmp_path, started(chosen), outcome(chosen, True, accuracy=scores))
    (cell,) = fit_rates(tabulate(local.read(tmp_path).runs)).itertuples()
    assert list(cell.scores) == [64, 256, 512, 1024]


def test_wandb_files_and_earlier_reports_inside_are_no_runs(tmp_path):
    for name in ("wandb", "report"):
        file = one(tmp_path) / name / "started.json" if name == "wandb" else tmp_path / name / "started.json"
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    assert len(local.read(tmp_path).runs) == 1


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(RunsError, match="no such folder"):
        local.read(tmp_path / "nowhere")


def test_the_run_folder_is_the_one_that_training_writes(tmp_path):
    place = one(tmp_path)
    assert place == folder(tmp_path, started(config()))
    assert local.read(tmp_path).runs[0].origin == str(place)
