"""docs/exactness.md says what the records in docs/data say."""

from scripts import study
from scripts.exactness_page.cells import cells


def test_the_page_is_what_the_records_make_of_it():
    """After a change: python scripts/study.py"""
    text = study.PAGE.read_text(encoding="utf-8")
    assert study.renewed(text) == text


def test_every_run_of_the_study_is_counted_once():
    records = study.read(study.STUDY)
    counted = [run for runs in cells(records).values() for run in runs]
    assert len(counted) == sum("hardened" not in record for record in records)
    for runs in cells(records).values():
        assert len({run["seed"] for run in runs}) == len(runs)
        assert len({run["cell"] for run in runs}) == 1


def test_the_search_used_no_seed_of_the_study():
    assert {run["seed"] for run in study.read(study.STUDY)} <= set(range(36))
    assert {run["seed"] for run in study.read(study.SEARCH)} <= set(range(1000, 1012))
