import pytest

import train
from mingru import settings
from mingru.sweep.cell import cell_hash
from tests.composed import composed


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["+mixre=1"], "mixre: no such key (did you mean mixer?)"),
        (["+evaluation.evry=1"], "evaluation.evry: no such key (did you mean every?)"),
        (["+mixer.blok_size=4"], "mixer.blok_size: no such key (did you mean block_size?); valid: block_size"),
        (["+task.barr=1"], "task.barr: no such key (did you mean bar?)"),
        (["+task.group.ordr=1"], "task.group.ordr: no such key"),
        (["mixer.block_size=four"], "mixer.block_size=four: must be a valid integer"),
        (["seed=abc"], "seed=abc: must be a valid integer"),
        (["seed=-3"], "seed=-3: must be greater than or equal to 0"),
        (["steps=-5"], "steps=-5: must be greater than 0"),
        (["steps=1.5"], "steps=1.5: must be a valid integer"),
        (["lr=fast"], "lr=fast: must be a valid number"),
        (["lr=0"], "lr=0: must be greater than 0"),
        (["train_sequences=0"], "train_sequences=0: must be greater than 0"),
        (["evaluation.every_length=1"], "s3_hier: has no length up to 1 to evaluate"),
        (["curriculum=uniform", "train_sequences=10"], "s3_hier: a training set of so many sequences has one length, and no curriculum"),
        (["curriculum=doubling", "+curriculum.tokn=1"], "curriculum.tokn: no such key (did you mean tokens?)"),
        (["curriculum=doubling", "curriculum.bar=2.0"], "a bar in (0, 1]"),
        (["curriculum=doubling", "curriculum._target_=tasks.nowhere.Nothing"], "_target_=tasks.nowhere.Nothing cannot be imported"),
        (["++curriculum.shortest=2"], "curriculum: has no _target_"),
        (["fail_fast=1"], "fail_fast=1: must be a valid boolean"),
        (["stop=early"], "stop=early: must be 'significant'"),
        (["rerun=everything"], "rerun=everything: must be 'failed', 'stale' or 'all'"),
        (["extractor=singed"], "mixer 'singed' is unknown (did you mean signed?)"),
        (["stack=[]"], "stack=[]: at least one layer"),
        (["stack=[givns]"], "mixer 'givns' is unknown (did you mean givens?)"),
        (["stack=[{mixer: givens, round: 2}]"], "stack.givens.round: no such key (did you mean rounds?)"),
        (["stack=[signed,givens]", "depth=2"], "depth=2: a stack names every one of its layers"),
        (["logger=wandb", "logger.mode=onlin"], "logger.mode=onlin: must be 'auto', 'online' or 'offline'"),
        (["logger=wandb", "+logger.projekt=mine"], "logger.projekt: no such key (did you mean project?)"),
        (["logger.kind=wandbb"], "logger.kind=wandbb: no such logger (did you mean wandb?); valid: none, wandb"),
        (["stack=[3]"], "stack: 3 is neither a mixer's name nor"),
        (["extractor=3"], "extractor: 3 is neither a mixer's name nor"),
        (["extractor=[signed,{mixer: selection, block: 4}]"], "extractor.selection.block: no such key (did you mean block_size?)"),
        (["mixer.block_size=7"], "block_size"),
        (["mixer.block_size=48"], "block_size"),
        (["length=33"], "nearest valid: 32 and 34"),
        (["evaluation.lengths=[64,65]"], "length 65"),
        (["mixer._target_=mingru.mixers.nowhere.Nothing"], "_target_=mingru.mixers.nowhere.Nothing cannot be imported"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line_before_anything_trains(overrides, said):
    with pytest.raises(ValueError, match=r"\S") as refused:
        train.check(composed(*overrides), settings.CONF)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_resolving_twice_changes_nothing():
    several = "extractor=[{mixer: selection, block_size: 4},signed]"
    for overrides in ([], ["depth=2"], ["stack=[signed,delta,givens]"], ["task=parity", "mixer=log"], [several, "depth=2"]):
        once, _ = train.resolve(composed(*overrides))
        twice, _ = train.resolve(once)
        assert twice == once


def test_the_default_is_the_references_stack():
    config, _ = train.resolve(composed("mixer=givens", "task=s3_hier"))
    assert [layer["mixer"] for layer in config["stack"]] == ["signed", "givens"]
    assert config["extractor"] == "signed"
    stack = train.build_stack(composed("mixer=givens", "task=s3_hier"))
    assert sum(parameter.numel() for parameter in stack.parameters()) == 94_694


def test_a_stack_names_its_last_layer_mixer_and_the_earlier_ones_extractor():
    config, _ = train.resolve(composed("stack=[signed,log,givens]"))
    assert (config["extractor"], config["mixer"]["name"]) == ("signed+log", "givens")


def test_an_extractor_of_several_layers_is_those_layers_below_the_mixer():
    blocks = "{mixer: selection, block_size: 4}"
    config, _ = train.resolve(composed(f"extractor=[{blocks},signed]", "mixer=givens", "depth=2"))
    assert (config["extractor"], config["mixer"]["name"]) == ("selection+signed", "givens")
    outright, _ = train.resolve(composed(f"stack=[{blocks},signed,givens,givens]"))
    assert config["stack"] == outright["stack"]
    assert cell_hash(config) == cell_hash(outright)
    alone, _ = train.resolve(composed("extractor={mixer: signed, coupled: true}", "mixer=givens"))
    assert (alone["extractor"], alone["stack"][0]["coupled"]) == ("signed", True)
    assert train.resolve(composed("extractor=[]", "mixer=givens"))[0]["extractor"] == "none"


def test_lengths_follow_the_training_length():
    config, _ = train.resolve(composed("length=32"))
    assert config["evaluation"]["select_length"] == 64
    assert config["evaluation"]["lengths"] == [32, 128, 256, 512]


def test_outputs_count_from_the_projects_root(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert settings.project_path("outputs") == str(settings.PROJECT / "outputs")
    assert settings.project_path(tmp_path) == str(tmp_path)
