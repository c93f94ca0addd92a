"""`stop=significant` on paper: which seeds are dropped, when, and that the report sees the same comparisons and the same p."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from mingru.report import sequential
from mingru.report.deciding import fits_in_seed_order
from mingru.report.families import families
from mingru.report.fit_rate import fit_rates
from mingru.report.frame import tabulate
from mingru.report.runs import local
from mingru.sweep import records
from mingru.sweep.ledger import Ledger, ranges, table
from mingru.sweep.outcome import outcome
from mingru.sweep.request import Cell, Request
from mingru.sweep.significance import family
from mingru.sweep.sweeping import batches
from tests.report import synthetic
from tests.sweep.ledgers import end, requests


def stopping(*groups):
    book = Ledger([request for group in groups for request in group])
    book.stop_when_significant()
    book.note_standing()
    return book


def finish(book, request, fit=False, status="finished", **changes):
    book.note(end(request, status, fit, **changes))


def dropped(book):
    """What is dropped now: the mixer and the seed of each run."""
    return sorted((request.cell.config["stack"][0]["mixer"], request.seed) for request in book.drop(book.pending()))


def test_seeds_start_in_order_across_the_cells(tmp_path):
    book = stopping(requests(tmp_path, 3), requests(tmp_path, 3, mixer="signed"), requests(tmp_path, 3, mixer="givens"))
    assert [request.seed for request in book.pending()] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_all_against_none_needs_four_pairs_and_then_no_more(tmp_path):
    ours, theirs = requests(tmp_path, 36), requests(tmp_path, 36, mixer="signed")
    book = stopping(ours, theirs)
    for seed in range(4):
        assert dropped(book) == []
        finish(book, ours[seed], fit=True)
        assert dropped(book) == []
        finish(book, theirs[seed], status="diverged" if seed == 1 else "finished")
    assert dropped(book) == [(mixer, seed) for mixer in ("log", "signed") for seed in range(4, 36)]
    assert book.pending() == []
    assert book.exit_code == 0


def test_the_table_says_which_seeds_were_not_run_and_at_which_evidence(tmp_path):
    ours, theirs = requests(tmp_path, 9), requests(tmp_path, 9, mixer="signed")
    book = stopping(ours, theirs)
    for seed in (0, 1, 2, 3):
        finish(book, ours[seed], fit=True)
        finish(book, theirs[seed])
    # At work while the others are dropped.
    book.drop([request for request in book.pending() if request is not ours[4]])
    finish(book, ours[4], fit=True)
    evidence = sequential.evidence([True] * 4, [False] * 4)[-1]
    said = f"evidence {evidence:.3g} (20 wanted) after 4 pairs of seeds, Holm p {1 / evidence:.3g}"
    assert table(book).splitlines() == [
        "cell           runs      fits  finished  diverged    failed   missing",
        "s3 log L8         5       5/5         5         -         -         -",
        "s3 signed L8      4       0/4         4         -         -         -",
        "not run   s3 log L8 seeds 5-8",
        f"          significant against s3 signed L8: {said}",
        "not run   s3 signed L8 seeds 4-8",
        f"          significant against s3 log L8: {said}",
        "without stop=significant the same command goes on with the seeds not run",
        "9 runs: 9 finished, 0 diverged, 0 failed, 0 missing",
    ]


def test_seeds_that_end_early_do_not_enter_early(tmp_path):
    """However many later seeds have ended, none counts before the first one that is still to end."""
    ours, theirs = requests(tmp_path, 20), requests(tmp_path, 20, mixer="signed")
    book = stopping(ours, theirs)
    for seed in [0, 1, 2, *range(4, 12)]:
        finish(book, ours[seed], fit=True)
        finish(book, theirs[seed])
    finish(book, theirs[3])
    assert dropped(book) == []
    finish(book, ours[3], fit=True)
    assert dropped(book) == [(mixer, seed) for mixer in ("log", "signed") for seed in range(12, 20)]


def test_a_failed_run_is_left_out_and_a_killed_one_is_waited_for(tmp_path):
    ours, theirs = requests(tmp_path, 9), requests(tmp_path, 9, mixer="signed")
    book = stopping(ours, theirs)
    finish(book, ours[0], status="failed", said="E: boom")
    finish(book, ours[1], status="missing", said="killed by SIGKILL")
    for seed in range(9):
        finish(book, theirs[seed])
    for seed in range(2, 6):
        finish(book, ours[seed], fit=True)
    assert dropped(book) == []
    finish(book, ours[1], fit=True)
    assert dropped(book) == [("log", seed) for seed in (6, 7, 8)]
    assert book.exit_code == 1
    assert next(iter(book.dropped.values())).pairs == 5


def test_an_arm_that_is_decided_gets_no_more_seeds_while_the_others_go_on(tmp_path):
    groups = [requests(tmp_path, 36, mixer=mixer) for mixer in ("givens", "log", "signed")]
    book = stopping(*groups)
    for seed in range(6):
        for group in groups:
            finish(book, group[seed], fit=group is groups[0])
    gone = dropped(book)
    assert gone == [("givens", seed) for seed in range(6, 36)]
    assert len(book.pending()) == 60
    (verdict,) = set(book.dropped.values())
    assert (verdict.comparisons, verdict.pairs) == (2, 6)


def test_cells_that_nothing_is_compared_with_run_all_their_seeds(tmp_path):
    ours, theirs, alone = requests(tmp_path, 9), requests(tmp_path, 9, mixer="signed"), requests(tmp_path, 9, length=16)
    book = stopping(ours, theirs, alone)
    for seed in range(8):
        finish(book, alone[seed], fit=True)
        finish(book, ours[seed], fit=True)
        finish(book, theirs[seed])
    assert dropped(book) == [("log", 8), ("signed", 8)]
    assert book.pending() == [alone[8]]


@pytest.mark.parametrize("other", [{"length": 16}, {"lr": 0.2}])
def test_nothing_to_compare_is_an_error(tmp_path, other):
    with pytest.raises(ValueError, match="stop=significant: no two cells of one task, length and protocol"):
        stopping(requests(tmp_path, 3), requests(tmp_path, 3, **other))


def test_results_of_other_code_are_compared_among_themselves(tmp_path):
    ours, theirs = requests(tmp_path, 20), requests(tmp_path, 20, mixer="signed")
    book = stopping(ours, theirs)
    for seed in range(7):
        for group in (ours, theirs):
            end(group[seed], fit=group is ours)
            if seed < 3:
                file = group[seed].directory / records.RESULT
                records.write_json(file, records.read_json(file) | {"code": "other"})
            book.note(outcome(group[seed]))
        # Seven pairs, of which three and then four are of one code.
        assert dropped(book) == ([] if seed < 6 else [(mixer, seed) for mixer in ("log", "signed") for seed in range(7, 20)])


def test_the_same_command_again_comes_to_the_same_decision(tmp_path):
    def groups():
        return requests(tmp_path, 36), requests(tmp_path, 36, mixer="signed")

    ours, theirs = groups()
    book = stopping(ours, theirs)
    for seed in range(4):
        finish(book, ours[seed], fit=True)
        finish(book, theirs[seed])
    first = dropped(book)
    again = stopping(*groups())
    assert len(again.pending()) == 64
    assert dropped(again) == first
    assert again.pending() == []


def test_a_run_that_was_interrupted_is_finished_all_the_same(tmp_path):
    ours, theirs = requests(tmp_path, 9), requests(tmp_path, 9, mixer="signed")
    for seed in range(4):
        end(ours[seed], fit=True)
        end(theirs[seed])
    end(ours[4], "missing")
    book = stopping(ours, theirs)
    assert ("log", 4) not in dropped(book)
    assert book.pending() == [ours[4]]


def test_other_launchers_get_a_seed_of_every_cell_at_a_time(tmp_path):
    book = stopping(requests(tmp_path, 3), requests(tmp_path, 3, mixer="signed"))

    def sizes(launcher, max_batch_size=None, stop="significant"):
        config = SimpleNamespace(stop=stop, fail_fast=False)
        sweeper = SimpleNamespace(config=config, launcher=launcher, max_batch_size=max_batch_size)
        return [[request.seed for request in batch] for batch in batches(sweeper, book.pending())]

    assert sizes(SimpleNamespace()) == [[0, 0], [1, 1], [2, 2]]
    assert sizes(SimpleNamespace(), max_batch_size=1) == [[0], [0], [1], [1], [2], [2]]
    assert sizes(SimpleNamespace(ledger=None)) == [[0, 0, 1, 1, 2, 2]]
    assert sizes(SimpleNamespace(), stop=None) == [[0, 0, 1, 1, 2, 2]]


@pytest.mark.parametrize(("seeds", "shown"), [([3], "seed 3"), ([7, 5, 6], "seeds 5-7"), ([0, 2, 3, 9], "seeds 0, 2-3, 9")])
def test_seeds_are_shown_as_ranges(seeds, shown):
    assert ranges(seeds) == shown


def of(config, seeds):
    cell = Cell(composed=None, config=config)
    return [Request((f"seed={seed}",), cell, seed) for seed in range(seeds)]


def write(request, fit, status):
    config = request.cell.config | {"seed": request.seed}
    endings = {"finished": synthetic.outcome(config, fit), "diverged": synthetic.outcome(config, False, status="diverged")}
    synthetic.write(request.directory.parents[2], synthetic.started(config), endings.get(status, synthetic.failure()))
    return outcome(request)


def test_the_families_are_those_of_the_report(tmp_path):
    changes = itertools.product(
        ("parity", "s3"), (32, 64), ({}, {"lr": 0.01}, {"d_model": 32}, {"recipe": None, "threads": 2}), ("givens", "log", "delta")
    )
    made = [
        of(synthetic.config(mixer, task, outputs=str(tmp_path), length=length, **change), 1)[0] for task, length, change, mixer in changes
    ]
    by_directory = {request.directory: request for request in made}
    for request in by_directory.values():
        write(request, True, "finished")
    runs = tabulate(local.read(tmp_path).runs)
    reported = {frozenset(cell.cell for cell in found.each) for found in families(fit_rates(runs), runs)}
    swept = {}
    for request in by_directory.values():
        swept.setdefault(family(request.cell), set()).add(request.directory.parent.name.rpartition("-")[2])
    assert {frozenset(cells) for cells in swept.values()} == reported
    # Two tasks, two lengths, two rates; and wider stacks are arms of the same family.
    assert sorted(len(cells) for cells in reported) == [3] * 4 + [6] * 4


@pytest.mark.parametrize("dice", range(4))
def test_the_report_gives_the_p_at_which_the_sweep_stopped(tmp_path, dice):
    generator = np.random.default_rng(dice)
    rates = {"givens": 0.97, "log": 0.1, "delta": 0.15}
    groups = [of(synthetic.config(mixer, outputs=str(tmp_path), stop="significant"), 40) for mixer in rates]
    book = stopping(*groups)
    while waiting := book.pending():
        request = waiting[0]
        status = generator.choice(["finished", "diverged", "failed"], p=[0.85, 0.1, 0.05])
        book.note(write(request, bool(status == "finished" and generator.random() < rates[request.cell.config["mixer"]["name"]]), status))
        book.drop(book.pending())
    assert book.dropped
    runs = tabulate(local.read(tmp_path).runs)
    (found,) = families(fit_rates(runs), runs)
    assert set(found.sequential) == set(rates)
    pairs = {frozenset((pair.first, pair.second)): pair for pair in sequential.decide(fits_in_seed_order(found)).pairs}
    for request, verdict in book.dropped.items():
        names = {title.split("-")[1].split(" ")[0] for title in (request.cell.name, verdict.against)}
        pair = pairs[frozenset(names)]
        assert pair.significant
        assert pair.evidence >= verdict.evidence
        assert pair.p_holm <= verdict.p_holm
        assert pair.n >= verdict.pairs
