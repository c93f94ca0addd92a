"""Lengths of training batches: schedules, draws, and doubling by accuracy."""

from collections import Counter

import pytest
import torch

from tasks.curriculum import DoubleWhenAccurate, linear, uniform
from tasks.datamodule import StreamDataModule, TrainBatches
from tests.tasks.test_datamodule import SETTINGS


def test_a_linear_curriculum_goes_through_all_lengths_in_equal_parts_and_stays_at_the_last(preset):
    length = linear(preset("s3"), 1, 8, steps=80)
    assert [length(index) for index in range(80)] == [1 + index // 10 for index in range(80)]
    assert length(80) == length(10_000) == 8


def test_lengths_that_the_task_does_not_have_are_passed_over(preset):
    length = linear(preset("s3_hier"), 2, 8, steps=70)
    assert set(map(length, range(100))) == {2, 4, 6, 8}
    draw = uniform(preset("s3_hier"), 8, seed=0)
    assert set(map(draw, range(100))) == {2, 4, 6, 8}
    with pytest.raises(ValueError, match="s3_hier: has no length from 3 to 3 to train at"):
        linear(preset("s3_hier"), 3, 3, steps=10)


def test_a_uniform_curriculum_draws_each_length_as_often_and_depends_on_seed_and_index_alone(preset):
    draw, again, other = (uniform(preset("s3"), 5, seed) for seed in (0, 0, 1))
    drawn = [draw(index) for index in range(1000)]
    assert drawn == [again(index) for index in range(1000)] != [other(index) for index in range(1000)]
    assert all(150 < count < 250 for count in Counter(drawn).values())
    assert len(set(drawn)) == 5


def test_the_length_doubles_after_accuracy_has_been_high_enough_often_enough(preset):
    curriculum = DoubleWhenAccurate(preset("s3"), longest=60, patience=2)
    lengths = []
    for accuracy in [0.96, 0.96, 0.96, 0.94, 0.96, 0.95, *[1.0] * 12]:
        curriculum.observe(accuracy)
        lengths.append(curriculum(0))
    assert lengths == [2, 4, 4, 4, 4, 8, 8, 16, 16, 32, 32, 60, *[60] * 6]


def test_a_doubling_curriculum_goes_on_from_its_state(preset):
    one, other = (DoubleWhenAccurate(preset("s3"), patience=3) for _ in range(2))
    for _ in range(4):
        one.observe(1.0)
    other.load_state_dict(one.state_dict())
    for curriculum in (one, other):
        curriculum.observe(1.0)
        curriculum.observe(1.0)
        assert curriculum(0) == 8


def test_batches_are_as_long_as_the_curriculum_says(preset):
    task = preset("s3")
    data = StreamDataModule(task, **SETTINGS, curriculum=linear(task, 1, 9, steps=9))
    batches = list(data.train_dataloader())
    assert [batch.inputs.shape for batch in batches] == [(4, length) for length in range(1, 10)]
    assert all(torch.equal(batch.targets, task.oracle(batch)) for batch in batches)


def test_what_cannot_have_a_curriculum_says_so(preset):
    task = preset("s3")
    with pytest.raises(ValueError, match="s3: a training set of so many sequences has one length, and no curriculum"):
        TrainBatches(task, 0, 8, 4, limit=10, curriculum=linear(task, 1, 8, 10))
    with pytest.raises(ValueError, match="s3: this curriculum follows the run and takes no workers, got num_workers=2"):
        StreamDataModule(task, **SETTINGS, curriculum=DoubleWhenAccurate(task), num_workers=2)
