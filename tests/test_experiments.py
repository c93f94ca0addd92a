"""Every experiment composes, could train, and says what it asks, what to expect, what it costs and how to run it."""

import pytest

import train
from mingru import settings
from tests.composed import composed

EXPERIMENTS = sorted(settings.CONF.joinpath("experiment").glob("*.yaml"))


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_an_experiment_says_what_it_is_and_can_be_run(file):
    first, *header = file.read_text().splitlines()[:5]
    assert first == "# @package _global_"
    assert [line.split(":")[0] for line in header] == ["# Question", "# Expected", "# Cost", "# Command"]
    assert f"experiment={file.stem}" in header[-1]
    train.check(composed(f"experiment={file.stem}"), settings.CONF)


@pytest.mark.parametrize(
    ("name", "order", "sequences"),
    [("s3_10k", 6, 10_000), ("s3_250", 6, 250), ("s4_50k", 24, 50_000), ("s4_3k", 24, 3_000), ("s5_100k", 120, 100_000)],
)
def test_the_limited_training_sets_have_their_size_group_and_length(name, order, sequences):
    config, task = train.resolve(composed(f"experiment={name}"))
    assert (config["length"], config["evaluation"]["select_length"], config["train_sequences"]) == (16, 16, sequences)
    assert task.targets.size == order
    seen = train.data_module(config, task).train_batches
    rounds = -(-sequences // config["batch_size"])
    assert len({tuple(row) for index in range(rounds) for row in seen[index].inputs.tolist()}) >= 0.99 * sequences
