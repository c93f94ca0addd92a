import pytest

from mingru.sweep import records
from mingru.sweep.ledger import NOT_STARTED, table, titles
from mingru.sweep.outcome import outcome
from tests.sweep.ledgers import config, end, ledger, requests


def test_the_table_counts_every_run_and_names_every_one_that_did_not_finish(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = requests(tmp_path, 6), requests(tmp_path, 2, mixer="signed")
    book = ledger(first, second)
    ends = [("finished", ""), ("finished", ""), ("diverged", ""), ("failed", "E: boom"), ("missing", "killed")]
    for request, (status, said) in zip(first, ends, strict=False):
        book.note(end(request, status, fit=request.seed == 1, said=said))
    (first[3].directory / "train.log").touch()
    book.close()
    assert table(book).splitlines() == [
        "cell           runs      fits  finished  diverged    failed   missing",
        "s3 log L8         6       1/3         2         1         1         2",
        "s3 signed L8      2       0/0         -         -         -         2",
        "diverged  s3 log L8 seed 2",
        f"          {first[2].directory.relative_to(tmp_path)}",
        "failed    s3 log L8 seed 3: E: boom",
        f"          {first[3].directory.relative_to(tmp_path)}/train.log",
        "missing   s3 log L8 seed 4: killed",
        f"          {first[4].directory.relative_to(tmp_path)}",
        "missing   3 that were not started",
        "the same command goes on with the missing",
        "rerun=failed tries the failed again",
        "8 runs: 2 finished, 1 diverged, 1 failed, 4 missing",
    ]


@pytest.mark.parametrize(
    ("statuses", "code"),
    [("finished finished", 0), ("finished diverged", 0), ("finished failed", 1), ("finished missing", 1), ("finished", 1)],
)
def test_the_exit_code_is_0_only_when_every_run_has_a_result(tmp_path, statuses, code):
    group = requests(tmp_path, 2)
    book = ledger(group)
    for request, status in zip(group, statuses.split(), strict=False):
        book.note(end(request, status, said="E: boom"))
    assert book.exit_code == code


def test_runs_that_stand_are_not_pending_and_no_new_failures(tmp_path):
    group = requests(tmp_path, 4)
    end(group[0])
    end(group[1], "failed", said="E: boom")
    end(group[2], "missing")
    book = ledger(group)
    book.note_standing()
    assert book.pending() == group[2:]
    assert book.before == 2
    assert not book.new_failure
    book.note(end(group[2], "failed", said="E: boom"))
    assert book.new_failure


@pytest.mark.parametrize(("rerun", "pending"), [(None, [3]), ("failed", [1, 3]), ("stale", [0, 2, 3]), ("all", [0, 1, 2, 3])])
def test_rerun_says_which_runs_are_done_again(tmp_path, rerun, pending):
    """Seeds 0 and 2 have a result of other code, seed 1 has failed, seed 3 was killed."""
    group = requests(tmp_path, 4)
    group[0].cell.config["rerun"] = rerun
    for request, status in zip(group, ["finished", "failed", "diverged", "missing"], strict=True):
        end(request, status, said="E: boom")
    book = ledger(group)
    book.note_standing()
    assert [request.seed for request in book.pending()] == pending
    assert ("2 results of other code kept" in table(book)) == (rerun in (None, "failed"))


def test_two_jobs_that_mean_one_run_are_one_request(tmp_path):
    assert len(ledger(requests(tmp_path, 2), requests(tmp_path, 3)).requests) == 3


def test_cells_of_one_name_are_told_apart_by_their_folder(tmp_path):
    book = ledger(requests(tmp_path, 1, lr=0.1), requests(tmp_path, 1, lr=0.2), requests(tmp_path, 1, length=16))
    names = list(titles(book.requests).values())
    assert names[2] == "s3 log L16"
    assert len(set(names)) == 3
    for name, request in zip(names, book.requests[:2], strict=False):
        assert name == f"s3 log L8 ({request.directory.parent.name.removeprefix('log-')})"


def test_what_a_run_could_not_record_is_what_its_launcher_says(tmp_path):
    request = requests(tmp_path, 1)[0]
    assert (outcome(request, "OSError: full", raised=True).status, outcome(request, "killed by SIGKILL").status) == ("failed", "missing")
    assert str(outcome(request, "OSError: full", raised=True)) == "s3 log L8 seed 0: failed: OSError: full"
    end(request, "failed", said="RuntimeError: boom")
    assert outcome(request, "killed by SIGKILL").said == "RuntimeError: boom"
    end(request, "finished", fit=True)
    assert str(outcome(request)) == "s3 log L8 seed 0: fits"
    (request.directory / records.RESULT).write_text('{"status": "fin')
    assert outcome(request).status == "failed"


def test_nothing_heard_of_a_run_is_told_apart_from_a_run_that_broke_off(tmp_path):
    group = requests(tmp_path, 2)
    end(group[0], "missing")
    book = ledger(group)
    book.close()
    assert [book.outcomes[request].said for request in group] == ["interrupted", NOT_STARTED]
    assert config(tmp_path)["rerun"] is None
