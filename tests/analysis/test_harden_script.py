"""scripts/harden.py: from a run's folder to a hardened run beside it, or one line that says why not."""

import json

import pytest
import torch

import train
from mingru.analysis import hardened_run
from mingru.mixers.selection import Selection
from mingru.report.runs import local
from mingru.sweep import records
from scripts import harden
from tasks.base import Batch
from tests.analysis import machines
from tests.analysis.models import products, table_of, trained_s3
from tests.composed import composed, tiny

QUICK = ("--lengths", "8", "100", "--sequences", "16", "--stream", "500")


def made(outputs, *overrides):
    """A finished run of six steps and its folder."""
    cfg = tiny(outputs, *overrides)
    record = train.run(cfg)
    return records.run_directory(record["config"]), record


@pytest.fixture
def fitted(tmp_path):
    """A run whose stack nearly represents S3."""
    directory, record = made(tmp_path, "task=s3", "mixer=givens")
    stack = trained_s3()
    record |= {"config": hardened_run.config_of(record["config"], stack)}
    hardened_run.write(directory, stack, record, {})
    return directory


def test_a_hardened_run_loads_like_any_other_and_is_right(fitted, capsys):
    assert harden.main([str(fitted), *QUICK]) == 0
    said = capsys.readouterr().out
    assert "a group after" in said
    assert "36 of 36 products as the task has them" in said
    assert "non-abelian group of order 6: 1 of order 1, 3 of order 2, 2 of order 3" in said
    assert "a quotient of order 2" in said
    directory = fitted.with_name("s0-hardened")
    stack, cfg = train.load_run(directory)
    assert cfg.stack[0].mixer == "hardened"
    words = torch.randint(6, (4, 1000))
    assert torch.equal(stack(words)[0].argmax(-1), products(table_of("S3"), words))
    record = records.read_json(directory / "result.json")
    assert record["accuracy"] == {"8": 1, "100": 1, "500": 1}
    assert record["chance"]["8"] == pytest.approx(1 / 6)
    assert record["hardened"]["mixer"] == "givens"
    assert record["cell"] == f"{record['hardened']['cell']}-hardened"


def test_the_certificate_says_what_was_checked(fitted):
    assert harden.main([str(fitted), *QUICK]) == 0
    found = json.loads((fitted.with_name("s0-hardened") / "certificate.json").read_text())
    assert (found["table"], found["equals_task"], found["relations"]) == ("weights", True, 36)
    assert found["largest_violation"] < 1e-13
    assert found["answers"]["wrong"] == 0
    assert found["safe_tokens"]["float64"] > found["safe_tokens"]["float32"] > 0
    assert {block["represents"] for block in found["blocks"]} <= {"faithful", "a quotient of order 2", "nothing"}
    assert found["exact_at"] == []
    assert found["measured"]["100"] == {"sequences": 16, "tokens": 1600, "wrong": 0, "first_wrong": None}


def test_a_loaded_run_is_the_model_in_memory(fitted, tmp_path):
    out = tmp_path / "elsewhere"
    assert harden.main([str(fitted), "--out", str(out), *QUICK, "--table", "task"]) == 0
    stack = train.load_run(fitted)[0]
    exact = harden.hardened_stack(stack, harden.harden(stack, table_of("S3"), torch.arange(6)).exact)
    words = torch.randint(6, (2, 50))
    assert torch.equal(train.load_run(out)[0](words)[0], exact(words)[0])
    assert json.loads((out / "certificate.json").read_text())["table"] == "task"


def test_a_hardened_run_counts_as_no_run_of_its_own(fitted, tmp_path):
    assert harden.main([str(fitted), *QUICK]) == 0
    source = local.read(tmp_path)
    assert [run.origin for run in source.runs] == [str(fitted)]
    assert source.notes == [f"{tmp_path}: 1 hardened, which count as no runs of their own"]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("task=s3", "mixer=givens"), "no near-representation: the table read off the weights is no group's"),
        (("task=s3", "mixer=givens", "extractor=signed"), "its answers to two elements are no group's"),
        (("task=s3", "mixer=gru", "extractor=signed"), "gru: its maps cannot be read"),
        (("task=s3", "mixer=gru"), "gru: its maps cannot be read"),
        (("task=s3_hier", "mixer=givens", "extractor=none"), "whose tokens are all elements of a group"),
        (("task=flip_flop", "mixer=signed"), "tokens are all elements of a group"),
    ],
)
def test_what_cannot_be_hardened_is_one_line(tmp_path, capsys, overrides, message):
    directory, _ = made(tmp_path, *overrides)
    assert harden.main([str(directory), *QUICK]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("harden.py: ")
    assert message in complaint
    assert complaint.count("\n") == 1
    assert not directory.with_name("s0-hardened").exists()


def layered(outputs, stack):
    """A run of a hierarchy of C5 whose stack is this one."""
    task = ("task=group_hier", "task.group=C5", "task.table_seed=0", "task.levels=1")
    directory, record = made(outputs, *task, "extractor=log", "mixer=selection", "mixer.block_size=5", "d_model=60")
    below, above = (block.mixer for block in stack.blocks)
    last = record["config"]["stack"][-1] if isinstance(above, Selection) else hardened_run.settings_of(above)
    config = record["config"] | {"stack": [hardened_run.settings_of(below), last]}
    hardened_run.write(directory, stack, record | {"config": config}, {})
    return directory


@pytest.mark.parametrize(
    ("stack", "said_of_it"),
    [
        (machines.moving(), "A machine of 50 states. Right in all 250 pairs"),
        (machines.turning(0.02), "Right in all 250 pairs of situation"),
    ],
)
def test_a_run_of_several_layers_becomes_exact_and_loads_like_any_other(tmp_path, capsys, stack, said_of_it):
    source = layered(tmp_path, stack)
    assert harden.main([str(source), *QUICK]) == 0
    said = capsys.readouterr().out
    assert "25 words spell the elements of this group: abelian group of order 5: 1 of order 1, 4 of order 5" in said
    assert said_of_it in said
    directory = source.with_name("s0-hardened")
    hardened, cfg = train.load_run(directory)
    assert [layer.mixer for layer in cfg.stack] == ["hardened_extractor", "hardened"]
    words = torch.randint(5, (4, 1000))
    assert torch.equal(hardened(words)[0].argmax(-1), machines.CYCLIC.oracle(Batch(words, words)))
    found = json.loads((directory / "certificate.json").read_text())
    assert (found["table"], found["equals_task"], found["period"], found["answers"]["pairs"]) == ("weights", True, 2, 250)
    assert found["answers"]["margin"] > 0
    assert found["measured"]["100"]["wrong"] == 0
    record = records.read_json(directory / "result.json")
    assert (record["extractor"], record["mixer"], record["state_size"]) == ("hardened_extractor", "hardened", 62)


def test_the_certificate_of_a_machine_has_no_limit_and_that_of_a_gauge_has_one(tmp_path):
    found = []
    for name, stack in (("machine", machines.moving()), ("gauge", machines.turning(0.02))):
        source = layered(tmp_path / name, stack)
        assert harden.main([str(source), *QUICK]) == 0
        found.append(json.loads((source.with_name("s0-hardened") / "certificate.json").read_text()))
    assert found[0]["safe_tokens"] == {"float32": None, "float64": None}
    assert (found[0]["states"], found[0]["blocks"]) == (50, None)
    assert found[1]["safe_tokens"]["float64"] > found[1]["safe_tokens"]["float32"] > 100
    assert [block["dims"] for block in found[1]["blocks"] if block["dims"]] == [[2]]
    assert found[1]["states"] is None


def test_a_flat_model_that_moves_its_state_becomes_a_machine_of_the_blocks_that_carry(tmp_path, capsys):
    source, record = made(tmp_path, "task=c6", "mixer=selection", "mixer.block_size=6", "d_model=60")
    hardened_run.write(source, machines.flat_moving(), record, {})
    assert harden.main([str(source), *QUICK]) == 0
    said = capsys.readouterr().out
    assert "Blocks that carry the product: 0, 1; the others are held at their mean." in said
    assert "A machine of 6 states. Right in all 36 pairs" in said
    directory = source.with_name("s0-hardened")
    words = torch.randint(6, (4, 1000))
    assert torch.equal(train.load_run(directory)[0](words)[0].argmax(-1), words.cumsum(1) % 6)
    found = json.loads((directory / "certificate.json").read_text())
    assert (found["carriers"], found["states"], found["equals_task"]) == ([0, 1], 6, True)
    assert found["safe_tokens"] == {"float32": None, "float64": None}
    assert harden.main([str(source), *QUICK, "--out", str(tmp_path / "given"), "--table", "task"]) == 0
    assert json.loads((tmp_path / "given" / "certificate.json").read_text())["table"] == "task"


def test_a_machine_of_another_square_is_said_to_be_none_of_the_tasks(tmp_path, capsys):
    source = layered(tmp_path, machines.moving(lambda phase, first, second: phase * machines.spelt(second, first)))
    assert harden.main([str(source), *QUICK]) == 0
    assert "not the task's words and elements" in capsys.readouterr().out
    assert not json.loads((source.with_name("s0-hardened") / "certificate.json").read_text())["equals_task"]


def test_several_layers_that_do_not_track_the_group_are_refused(tmp_path, capsys):
    source = layered(tmp_path, machines.turning(0.5))
    assert harden.main([str(source), *QUICK]) == 1
    assert "nothing is written" in capsys.readouterr().err
    assert not source.with_name("s0-hardened").exists()


def test_several_layers_are_given_no_table(tmp_path, capsys):
    assert harden.main([str(layered(tmp_path, machines.moving())), *QUICK, "--table", "task"]) == 1
    assert "only a flat model can be given a table" in capsys.readouterr().err


def test_what_the_tasks_table_does_not_make_right_is_one_line(tmp_path, capsys):
    directory, _ = made(tmp_path, "task=s3", "mixer=givens")
    assert harden.main([str(directory), *QUICK, "--table", "task"]) == 1
    assert "no near-representation of this group" in capsys.readouterr().err
    assert not directory.with_name("s0-hardened").exists()


def test_a_folder_without_a_finished_run_is_one_line(tmp_path, capsys):
    assert harden.main([str(tmp_path)]) == 1
    assert "holds no finished run" in capsys.readouterr().err


def test_a_regression_task_is_refused():
    with pytest.raises(ValueError, match="a regression task has no group"):
        harden.group_table(train.resolve(composed("task=pendulum"))[1])
