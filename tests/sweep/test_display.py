import io

import pytest

from mingru.sweep import display
from mingru.sweep.display import Display, LiveDisplay, clock
from mingru.sweep.pace import Pace
from tests.sweep.ledgers import end, ledger, requests


@pytest.fixture
def now(monkeypatch):
    """A clock that is set by hand."""
    times = [1000.0]
    monkeypatch.setattr("mingru.sweep.pace.time.monotonic", lambda: times[0])
    return times


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0 s"), (9.9, "9.9 s"), (59.4, "59 s"), (59.6, "1:00"), (65, "1:05"), (3665, "1:01:05")]
)
def test_a_duration_is_as_long_as_it_needs_to_be(seconds, shown):
    assert clock(seconds) == shown


def test_the_time_left_is_what_runs_of_the_same_cell_took(tmp_path, now):
    quick, slow = requests(tmp_path, 4), requests(tmp_path, 2, mixer="givens")
    pace = Pace(workers=2)
    assert pace.left([*quick, *slow], []) is None
    for request, took in ((quick[0], 10), (slow[0], 50)):
        pace.started(request)
        now[0] += took
        pace.ended(request)
    # Three of 10 s and one of 50 s, by two workers; but the last run alone takes 50 s.
    assert pace.left([*quick[1:], slow[1]], []) == 40
    pace.started(slow[1])
    now[0] += 5
    assert pace.left([], [(slow[1], 0.0)]) == 45
    assert pace.ended(quick[3]) is None


def test_a_first_run_is_judged_by_how_far_it_is(tmp_path, now):
    group = requests(tmp_path, 3)
    pace = Pace(workers=1)
    pace.started(group[0])
    now[0] += 30
    assert pace.left(group[1:], [(group[0], 0.0)]) is None
    assert pace.left(group[1:], [(group[0], 0.25)]) == 90 + 2 * 120


def test_without_a_terminal_there_is_a_line_per_run(tmp_path, now, monkeypatch):
    monkeypatch.chdir(tmp_path)
    group = requests(tmp_path, 3)
    end(group[0])
    book = ledger(group)
    book.note_standing()
    stream = io.StringIO()
    shown = Display(book, 2, stream)
    shown.open()
    for request, status, took in ((group[1], "finished", 30), (group[2], "failed", 4)):
        shown.started(request)
        now[0] += took
        ended = end(request, status, fit=True, said="E: boom")
        book.note(ended)
        shown.ended(ended)
        shown.show([], 0)
    shown.stopping("SIGINT")
    shown.close()
    assert stream.getvalue().splitlines() == [
        "3 runs in 1 cell, 1 of them done before; 2 at a time",
        "[2/3] s3 log L8 seed 1: fits; took 30 s; about 15 s left",
        f"[3/3] s3 log L8 seed 2: failed: E: boom; {group[2].directory.relative_to(tmp_path)}; took 4.0 s",
        "SIGINT: nothing more is started; the runs at work make their checkpoints",
    ]


def test_runs_that_are_no_longer_wanted_are_told_and_not_counted(tmp_path):
    groups = [requests(tmp_path, 9), requests(tmp_path, 9, mixer="signed")]
    book = ledger(*groups)
    book.stop_when_significant()
    for seed in range(4):
        for group in groups:
            book.note(end(group[seed], fit=group is groups[0]))
    stream = io.StringIO()
    shown = Display(book, 2, stream)
    shown.dropped(book.drop(book.pending()[:1] + book.pending()[2:]))
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if "seed" in line and "evidence" not in line] == [
        "not run   s3 log L8 seeds 4-8", "not run   s3 signed L8 seeds 5-8",
    ]  # fmt: skip
    book.note(end(groups[1][4]))
    assert picture(LiveDisplay(book, 2, io.StringIO()), [])[0].endswith("9/9 done, 9 not run")
    shown.ended(book.outcomes[groups[1][4]])
    assert stream.getvalue().splitlines()[-1] == "[9/9] s3 signed L8 seed 4: does not fit"


def picture(shown, running, elsewhere=0, width=80):
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=width, height=12).print(shown.picture(running, elsewhere))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_live_picture_counts_runs_and_fits(tmp_path, now, monkeypatch):
    monkeypatch.chdir(tmp_path)
    group, other = requests(tmp_path, 5), requests(tmp_path, 2, mixer="signed")
    book = ledger(group, other)
    shown = LiveDisplay(book, 2, io.StringIO())
    lines = picture(shown, [])
    assert lines[0].endswith("0/7 done, starting 2 workers")
    for request in group[:3]:
        shown.started(request)
        now[0] += 60
        book.note(end(request, "failed" if request.seed == 2 else "finished", fit=request.seed == 1, said="E: boom"))
        shown.ended(book.outcomes[request])
    shown.started(group[3])
    lines = picture(shown, [(group[3], 0.4)], elsewhere=1)
    assert lines[0].endswith("3/7 done, 1 running, 1 failed, 1 with another sweep")
    assert lines[1].split() == "3:00 gone, about 2:00 left".split()
    assert [line.split() for line in lines[2:5]] == [
        ["cell", "done", "fits"], ["s3", "log", "L8", "3/5", "1/2"], ["s3", "signed", "L8", "0/2"],
    ]  # fmt: skip
    assert lines[5:] == [
        "running s3 log L8 seed 3  40%",
        "s3 log L8 seed 2: failed: E: boom",
        f"  {group[2].directory.relative_to(tmp_path)}",
    ]
    shown.stopping("SIGINT")
    assert "stopping on SIGINT" in picture(shown, [])[0]


def test_the_live_picture_is_never_higher_than_the_terminal(tmp_path, now):
    groups = [requests(tmp_path, 1, length=2 * length) for length in range(1, 40)]
    book = ledger(*groups)
    shown = LiveDisplay(book, 2, io.StringIO())
    shown.console.size = (80, 12)
    for (request,) in groups[:5]:
        book.note(end(request, "failed", said="E: boom " * 30))
    running = [(groups[30][0], 0.5), (groups[31][0], 0.1)]
    for request, _ in running:
        shown.started(request)
    for width in (40, 80):
        lines = picture(shown, running, width=width)
        assert any(line.startswith("running s3 log L62 seed 0") for line in lines)
        assert any(line.startswith("s3 log L62 ") for line in lines)
        assert "more" in "".join(lines)
    assert display.FEWEST_CELLS <= 3
