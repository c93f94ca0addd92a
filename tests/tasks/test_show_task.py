"""What is said of a task, and that docs/tasks.md says the same."""

import sys

import pytest

from scripts import show_task
from tasks.algebra.names import named_group
from tasks.algebra.quotients import is_planar, is_spatial, quotient, rotation_order
from tasks.algebra.structure import derived_series, structure
from tasks.rungs import ceiling


def say(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["show_task.py", *words])
    code = show_task.main()
    return code, *capsys.readouterr()


def test_the_page_of_tasks_is_what_the_script_makes():
    """After a change: python scripts/show_task.py --docs"""
    assert show_task.page() == show_task.PAGE.read_text()


def test_every_preset_is_on_the_page_and_what_is_left_out_is_named():
    page = show_task.PAGE.read_text()
    for file in (show_task.settings.CONF / "task").glob("*.yaml"):
        assert f"\n### {file.stem}\n" in page
    assert "Churn (Rosbank) needs a download and is left out." in page


def test_s3_hier_is_shown_with_tables_a_sample_floors_rungs_and_cost(monkeypatch, capsys):
    code, said, _ = say(monkeypatch, capsys, "task=s3_hier")
    assert code == 0
    for part in (
        "In: 6 tokens. Out: 6 classes, at every position. Fits at accuracy >= 0.99.",
        "1 0 4 5 2 3",
        "4 2 3 1 5 0",
        "A sample of length 16",
        "| 64 | 0.1797 | 0.1797 |",
        "Chance by position: 1 0.167",
        "| rotation | exact",
        "[signed, givens]: 25 of 36 seeds fit",
        "94,694 parameters",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["task=nope"], "Could not find 'task/nope'"),
        (["task=group", "task.group=X9"], "group: group 'X9' is unknown"),
        (["task=psmnist"], "psmnist: task.folder names the folder"),
        (["+task.levles=2"], "task.levles: no such key (did you mean levels?)"),
    ],
)
def test_what_cannot_be_shown_is_one_line(monkeypatch, capsys, words, message):
    code, said, complaint = say(monkeypatch, capsys, *words)
    assert code == 1
    assert said == ""
    assert complaint.startswith("error: ")
    assert message in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("names", "rotations"),
    [("C1", 1), ("D1 D2", 2), ("D3 S3", 3), ("C2_wr_C2 D4", 4), ("C5", 5), ("D6 C6", 6), ("Q8 Dic3 A4 C2_x_C4 C2_x_C2_x_C2", None)],
)
def test_symmetries_of_a_plane_are_cyclic_or_dihedral(names, rotations):
    assert {rotation_order(named_group(name)) for name in names.split()} == {rotations}


def test_groups_are_told_apart_by_the_planes_and_spaces_they_act_on():
    def those(test, names):
        return [name for name in names.split() if test(named_group(name))]

    assert those(is_planar, "C24 C2_x_C4 S3_x_C5 Dic3 Q8 A4 C7:C3 Heis3") == ["C24", "C2_x_C4", "S3_x_C5", "Dic3"]
    assert those(lambda group: is_planar(group, (1, 2, 3, 4, 6)), "C4 C12 C5 C24 D4 D5 S3") == ["C4", "C12", "D4", "S3"]
    assert those(is_spatial, "C60 D5 A4 S4 A5 S5 SL(2,3) C2_x_C2_x_C2 Dic3") == ["C60", "D5", "A4", "S4", "A5"]


def test_a_quotient_is_the_group_of_cosets():
    group = named_group("S4")
    found = {int(normal.sum()): structure(quotient(group, normal)) for normal in derived_series(group)}
    assert found[4] == structure(named_group("S3"))
    assert found[12] == structure(named_group("C2"))
    assert found[24].order == 1


def test_ceilings_are_one_over_the_order_of_the_commutator_subgroup():
    """The plateaus of Zhang and Li, arXiv:2609.29951."""
    plateaus = {2: "D4 Q8", 3: "S3 D6 Dic3 Heis3", 4: "A4", 5: "D5", 7: "C7:C3", 8: "SL(2,3)", 12: "S4", 60: "S5 A5"}
    for order, names in plateaus.items():
        assert all(round(1 / ceiling(named_group(name))) == order for name in names.split())
