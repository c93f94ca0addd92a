import copy

import pytest

import train
from mingru.sweep.cell import OUTSIDE, canonical, cell, cell_hash, slug
from mingru.sweep.records import run_directory
from tests.composed import composed


@pytest.fixture(scope="module")
def base():
    return train.resolve(composed())[0]


@pytest.mark.parametrize(
    "override",
    [
        "seed=7",
        "outputs=elsewhere",
        "logger=none",
        "logger.project=other",
        "threads=2",
        "rerun=all",
        "fail_fast=true",
        "stop=significant",
        "device=cpu",
    ],
)
def test_an_outside_key_keeps_the_cell(base, override):
    assert cell_hash(train.resolve(composed(override))[0]) == cell_hash(base)


@pytest.mark.parametrize(
    "override",
    [
        "task=s3", "mixer=delta", "mixer.rounds=2", "mixer.block_size=4", "extractor=none", "extractor=log", "depth=2", "d_model=32",
        "mlp_expansion=0", "length=32", "steps=800", "batch_size=64", "lr=0.001", "evaluation.every=50", "evaluation.select_length=96",
        "evaluation.lengths=[64]", "evaluation.bar=0.98", "evaluation.select_sequences=128", "evaluation.sequences=256", "task.bar=0.5",
        "compile=true", "train_sequences=1000", "curriculum=linear", "curriculum=uniform", "curriculum=doubling",
        "schedule=hold_then_linear", "schedule=cosine", "clip=1.0",
        "evaluation.every_length=64", "evaluation.select_last=true",
        "stack=[{mixer: signed, coupled: true}, givens]",
    ],
)  # fmt: skip
def test_an_inside_key_makes_another_cell(base, override):
    assert cell_hash(train.resolve(composed(override))[0]) != cell_hash(base)


def test_every_top_level_key_is_inside_or_outside_on_purpose(base):
    inside = set(base) - OUTSIDE
    protocol = {"length", "steps", "batch_size", "lr", "train_sequences", "curriculum", "schedule", "clip", "evaluation", "compile"}
    assert inside == {"task", "stack", "d_model", "mlp_expansion", "time"} | protocol


@pytest.mark.parametrize(
    "override",
    [
        "lr=3e-3", "lr=0.0030", "evaluation.bar=0.99", "evaluation.select_length=128", "evaluation.lengths=[1024,64,512,256]",
        "extractor=signed", "stack=[signed,givens]", "stack=[signed,{mixer: givens, rounds: 3}]", "curriculum=fixed", "~curriculum",
    ],
)  # fmt: skip
def test_the_same_value_written_otherwise_is_the_same_cell(base, override):
    assert cell_hash(train.resolve(composed(override))[0]) == cell_hash(base)


def test_an_option_added_later_reads_as_its_off_value(base):
    for off in (None, False, float("nan")):
        newer = copy.deepcopy(base)
        newer["clip"] = off
        newer["stack"][-1]["decay"] = off
        assert cell_hash(newer) == cell_hash(base)
    newer["stack"][-1]["decay"] = "fixed"
    assert cell_hash(newer) != cell_hash(base)


def test_a_record_from_before_an_option_is_the_cell_in_which_it_is_off(base):
    older = copy.deepcopy(base)
    del older["train_sequences"], older["curriculum"], older["schedule"], older["clip"], older["evaluation"]["every_length"]
    del older["evaluation"]["select_last"]
    assert cell_hash(older) == cell_hash(base)
    assert train.resolve(older)[0] == base


def test_each_setting_of_a_curriculum_makes_another_cell():
    settings = ("bar=0.95", "shortest=4", "bar=0.9", "patience=5", "smoothing=0.8", "tokens=4096", "most_sequences=512")
    hashes = [cell_hash(train.resolve(composed("curriculum=doubling", f"curriculum.{setting}"))[0]) for setting in settings]
    assert len(set(hashes)) == len(hashes)


def test_curricula_with_the_same_settings_are_different_cells():
    linear = train.resolve(composed("curriculum=linear"))[0]
    uniform = train.resolve(composed("curriculum=uniform"))[0]
    assert cell_hash(linear) != cell_hash(uniform)


def test_zero_is_a_value_and_not_off():
    assert canonical({"a": 0, "b": 0.0}) == {"a": 0, "b": 0}


def test_moving_a_mixers_class_keeps_the_cell_but_another_group_does_not(base):
    moved = copy.deepcopy(base)
    moved["stack"][-1]["_target_"] = "mingru.mixers.elsewhere.Givens"
    assert cell(moved) == cell(base)
    moved["task"]["group"]["_target_"] = "tasks.algebra.other"
    assert cell(moved) != cell(base)


def test_the_directory_is_short_and_legal_everywhere(base):
    long = train.resolve(composed("stack=[signed,givens,delta,rotation,signed_coupled,rotation_free,givens,delta]"))[0]
    for config in (base, long):
        *_, task, folder, seed = run_directory(config).parts
        assert (task, seed) == ("s3_hier", "s0")
        assert folder == f"{slug(config)}-{cell_hash(config)}"
        assert len(folder) <= 50
        assert not set('<>:"/\\|?*') & set(folder)
