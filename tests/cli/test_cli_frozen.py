import os
from pathlib import Path

import pytest

from mingru.cli.frozen import refuse_unwritable, snapshot
from mingru.cli.plan import plan
from mingru.cli.refusal import Refusal


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_sweep_reads_a_copy_that_lies_below_its_outputs(conf, tmp_path):
    planned = plan(["-m", "mixer=log", "seed=0-1", f"outputs={tmp_path}/runs"], conf)
    (frozen,) = planned.snapshots
    assert planned.argv[-2:] == ("--config-path", str(frozen.home))
    assert frozen.home.parent == tmp_path / "runs" / ".conf"
    frozen.write()
    assert tree(frozen.home) == tree(conf)


def test_a_relative_outputs_folder_counts_from_the_project_wherever_the_command_starts(conf, tmp_path, monkeypatch):
    monkeypatch.chdir(os.path.sep)
    planned = plan(["-m", "seed=0-1", "outputs=runs"], conf)
    assert planned.snapshots[0].home.parent == conf.parent / "runs" / ".conf"


def test_folders_given_on_the_line_are_copied_in_their_place(conf, tmp_path):
    extra = tmp_path / "extra"
    (extra / "mixer").mkdir(parents=True)
    (extra / "mixer" / "mine.yaml").write_text("name: mine\n")
    planned = plan(["-cd", str(extra), "-m", "mixer=mine,log", "--config-path", str(conf)], conf)
    assert [cell.config.mixer.name for cell in planned.cells] == ["mine", "log"]
    first, second = planned.snapshots
    assert planned.argv[-4:] == ("--config-path", str(first.home), "--config-dir", str(second.home))
    assert str(extra) not in planned.argv


def test_the_copy_is_named_by_its_content(conf, tmp_path):
    first = snapshot(conf, tmp_path)
    assert snapshot(conf, tmp_path).home == first.home
    (conf / "mixer" / "log.yaml").write_text("name: changed\n")
    assert snapshot(conf, tmp_path).home != first.home


def test_a_copy_holds_what_was_there_when_the_sweep_began(conf, tmp_path):
    before = tree(conf)
    taken = snapshot(conf, tmp_path / "runs")
    (conf / "mixer" / "log.yaml").write_text("name: edited\n")
    taken.write()
    assert tree(taken.home) == before


def test_a_copy_that_is_there_is_used_again(conf, tmp_path):
    taken = snapshot(conf, tmp_path / "runs")
    taken.write()
    (taken.home / "mark").touch()
    taken.write()
    assert (taken.home / "mark").exists()
    assert os.listdir(taken.home.parent) == [taken.home.name]


def test_of_two_sweeps_that_start_together_one_writes_and_both_go_on(conf, tmp_path, monkeypatch):
    taken = snapshot(conf, tmp_path / "runs")
    rename = Path.rename

    def lose_the_race(path: Path, target: Path) -> Path:
        monkeypatch.undo()
        taken.write()
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", lose_the_race)
    taken.write()
    assert tree(taken.home) == tree(conf)
    assert os.listdir(taken.home.parent) == [taken.home.name]


def test_files_that_are_no_yaml_and_hidden_folders_stay_out_of_the_copy(conf, tmp_path):
    (conf / ".git").mkdir()
    (conf / ".git" / "x.yaml").touch()
    (conf / "notes.txt").touch()
    names = {name for name, _ in snapshot(conf, tmp_path).files}
    assert "mixer/log.yaml" in names
    assert not {".git/x.yaml", "notes.txt"} & names


@pytest.mark.parametrize("flags", [[], ["-m"]])
def test_an_outputs_path_through_a_file_is_refused(conf, tmp_path, flags):
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match="is no folder"):
        plan([f"outputs={tmp_path}/file/runs", *flags], conf)


def test_a_dangling_link_is_no_outputs_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Refusal, match=r"outputs=link: .* is no folder"):
        refuse_unwritable(tmp_path / "link", "outputs=link")


def test_an_unwritable_outputs_folder_is_refused(tmp_path, monkeypatch):
    def deny(**_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", deny)
    with pytest.raises(Refusal, match=r"outputs=a/b: .* is not writable \(Permission denied\)"):
        refuse_unwritable(tmp_path / "a" / "b", "outputs=a/b")


def test_asking_whether_outputs_is_writable_leaves_nothing(tmp_path):
    refuse_unwritable(tmp_path / "a" / "b", "outputs=a/b")
    assert os.listdir(tmp_path) == []


def test_a_copy_that_cannot_be_written_is_a_refusal(conf, tmp_path):
    taken = snapshot(conf, tmp_path / "runs")
    (tmp_path / "runs").touch()
    with pytest.raises(Refusal, match="can't be written"):
        taken.write()
