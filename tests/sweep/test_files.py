"""A file that a task's settings name belongs to the cell by its content."""

import os

import pytest

import train
from mingru.settings import PROJECT
from mingru.sweep.cell import cell_hash
from mingru.sweep.files import digests
from mingru.sweep.records import run_directory
from tests.composed import composed, tiny

SIGNS = "0 1\n1 0\n"
# The same group after a comma, and another with four elements.
VARIANT, KLEIN = "0,1\n1,0\n", "0 1 2 3\n1 0 3 2\n2 3 0 1\n3 2 1 0\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "mine.csv").write_text(SIGNS)
    return tmp_path / "mine.csv"


def group(table):
    return train.resolve(composed("task=group", f"task.group={table}"))[0]


def test_changed_content_is_another_cell_and_the_old_content_the_old_one(table):
    before = group(table)
    for content in (VARIANT, KLEIN):
        table.write_text(content)
        assert cell_hash(group(table)) != cell_hash(before)
        assert run_directory(group(table)) != run_directory(before)
    table.write_text(SIGNS)
    os.utime(table, (1, 1))
    assert cell_hash(group(table)) == cell_hash(before)


def test_a_resolved_config_resolves_to_itself_and_takes_the_content_of_the_day(table):
    once = group(table)
    assert list(once["files"]) == [str(table)]
    assert train.resolve(once)[0] == once
    table.write_text(KLEIN)
    assert train.resolve(once)[0]["files"] != once["files"]


def test_a_task_without_files_names_none():
    assert "files" not in train.resolve(composed("task=s3_hier"))[0]


def test_a_finished_run_is_trained_again_when_its_table_has_changed(table, tmp_path):
    cfg = tiny(tmp_path / "outputs", "task=group", f"task.group={table}", "steps=2")
    first = train.run(cfg)
    assert train.run(cfg) == first
    table.write_text(KLEIN)
    again = train.run(cfg)
    assert again["cell"] != first["cell"]
    assert again["parameters"] != first["parameters"]


def test_names_are_found_at_any_depth_and_count_from_the_projects_root(tmp_path):
    (tmp_path / "rules.json").write_text("{}")
    task = {"_target_": "train.py", "name": "train.py", "group": {"_target_": "train.py", "file": f"{tmp_path}/rules.json"}, "bar": 0.9}
    assert list(digests(task)) == [f"{tmp_path}/rules.json"]
    assert digests({"text": ["README.md"]}) == {"README.md": digests({"text": f"{PROJECT}/README.md"})[f"{PROJECT}/README.md"]}
    assert digests({"group": "S5", "alphabet": "generators", "file": None, "empty": ""}) == {}


def test_a_folder_changes_with_what_lies_in_it(tmp_path):
    found = []
    for name, content in (("a", b"1"), ("b", b"1"), ("a", b"2"), ("c", b"")):
        (tmp_path / name).write_bytes(content)
        found.append(digests({"folder": str(tmp_path)})[str(tmp_path)])
    assert len(set(found)) == 4
    (tmp_path / "below").mkdir()
    assert digests({"folder": str(tmp_path)})[str(tmp_path)] == found[-1]
