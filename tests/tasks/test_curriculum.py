"""Shapes of training batches: schedules, draws, and doubling by accuracy."""

from collections import Counter

import pytest
import torch

from tasks.base import of_split
from tasks.curriculum import DoubleWhenAccurate, Run, linear, uniform
from tasks.datamodule import StreamDataModule, TrainBatches
from tests.tasks.test_datamodule import SETTINGS


@pytest.fixture
def run(preset):
    return lambda name="s3", length=64, batch_size=4, steps=80, seed=0: Run(preset(name), length, batch_size, steps, seed)


def observed(curriculum, accuracies):
    """The length of each batch of a run that has these accuracies."""
    lengths = []
    for index, accuracy in enumerate(accuracies):
        lengths.append(curriculum(index).length)
        curriculum.observe(index, accuracy)
    return lengths


def test_a_linear_curriculum_goes_through_all_lengths_in_equal_parts_and_stays_at_the_last(run):
    for curriculum in (linear(run(length=8, steps=80)), linear(run(length=8, steps=300), steps=80)):
        assert [curriculum(index) for index in range(80)] == [(4, 1 + index // 10) for index in range(80)]
        assert curriculum(80).length == curriculum(10_000).length == 8


def test_lengths_that_the_task_does_not_have_are_passed_over(run):
    shape = linear(run("s3_hier", length=8, steps=70), shortest=2)
    assert {shape(index).length for index in range(100)} == {2, 4, 6, 8}
    draw = uniform(run("s3_hier", length=8))
    assert {draw(index).length for index in range(100)} == {2, 4, 6, 8}
    double = DoubleWhenAccurate(run("s3_hier", length=22), shortest=1)
    assert observed(double, [1.0] * 12) == [2, 2, 4, 4, 8, 8, 16, 16, 22, 22, 22, 22]
    with pytest.raises(ValueError, match="s3_hier: has no length from 3 to 3 to train at"):
        linear(run("s3_hier", length=3), shortest=3)


def test_a_uniform_curriculum_draws_each_length_as_often_and_depends_on_seed_and_index_alone(run):
    draw, again, other = (uniform(run(length=5, seed=seed)) for seed in (0, 0, 1))
    drawn = [draw(index).length for index in range(1000)]
    assert drawn == [again(index).length for index in range(1000)] != [other(index).length for index in range(1000)]
    assert all(150 < count < 250 for count in Counter(drawn).values())
    assert len(set(drawn)) == 5


def test_the_length_doubles_after_accuracy_has_been_high_enough_often_enough(run):
    """A new length begins with the second batch after the one that earned it, and only batches of that length count for the next."""
    curriculum = DoubleWhenAccurate(run(length=60), patience=2)
    lengths = observed(curriculum, [0.96, 0.94, 0.95, 0.96, 0.0, 0.96, 0.94, *[1.0] * 16])
    assert lengths == [2] * 5 + [4] * 5 + [8] * 3 + [16] * 3 + [32] * 3 + [60] * 4
    assert curriculum.stages == [(0, 2), (5, 4), (10, 8), (13, 16), (16, 32), (19, 60)]


def test_a_running_mean_begins_at_zero_at_every_length(run):
    """From zero, n batches without a mistake give 1 - .9^n, which is .95 or more from the 29th on."""
    curriculum = DoubleWhenAccurate(run(length=8), smoothing=0.9)
    assert Counter(observed(curriculum, [1.0] * 100)) == {2: 30, 4: 30, 8: 40}
    slower = DoubleWhenAccurate(run(length=8), smoothing=0.9)
    assert Counter(observed(slower, [0.0] * 50 + [1.0] * 28)) == {2: 78}


@pytest.mark.parametrize(
    ("most", "shapes"), [(2048, [2048, 2048, 1024, 512, 256, 128, 128]), (None, [4096, 2048, 1024, 512, 256, 128, 128])]
)
def test_shorter_sequences_come_in_larger_batches_within_bounds(run, most, shapes):
    curriculum = DoubleWhenAccurate(run(length=128, batch_size=128), tokens=8192, most_sequences=most)
    observed(curriculum, [1.0] * 20)
    assert [curriculum(first) for first, _ in curriculum.stages] == list(zip(shapes, (2, 4, 8, 16, 32, 64, 128), strict=True))


def test_without_a_number_of_tokens_the_batch_size_is_the_runs(run):
    assert DoubleWhenAccurate(run(batch_size=5), most_sequences=2048)(0) == (5, 2)


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_doubling_curriculum_goes_on_from_its_state_wherever_it_was_cut(run, cut):
    def build():
        return DoubleWhenAccurate(run(), smoothing=0.5, patience=2)

    accuracies = [1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 0.2, *[1.0] * 12]
    whole, first, second = build(), build(), build()
    expected = observed(whole, accuracies)
    observed(first, accuracies[:cut])
    second.load_state_dict(first.state_dict())
    for index, accuracy in list(enumerate(accuracies))[cut:]:
        assert second(index).length == expected[index]
        second.observe(index, accuracy)
    assert second.state_dict() == whole.state_dict()


def test_making_a_batch_ahead_of_time_gives_the_batch_that_making_it_in_time_does(run):
    """Lightning takes batch n + 1 from the loader before it trains on batch n, but after a resume only batch n."""
    curriculum = DoubleWhenAccurate(run())
    for index in range(10):
        ahead = curriculum(index + 1)
        curriculum.observe(index, 1.0)
        assert curriculum(index + 1) == ahead


def test_batches_are_as_long_as_the_curriculum_says(run):
    for curriculum, lengths in ((linear(run(length=9, steps=9)), range(1, 10)), (DoubleWhenAccurate(run()), [2] * 9)):
        data = StreamDataModule(run().task, **SETTINGS, curriculum=curriculum)
        batches = list(data.train_dataloader())
        assert [batch.inputs.shape for batch in batches] == [(4, length) for length in lengths]
        assert all(torch.equal(batch.targets, run().task.oracle(batch)) for batch in batches)


def test_a_curriculum_at_its_full_length_gives_the_batches_of_the_run_without_one(run):
    curriculum = linear(run(length=8, steps=1), shortest=8)
    with_one, without = (TrainBatches(run().task, 0, 8, 4, curriculum=each) for each in (curriculum, None))
    assert torch.equal(with_one[3].inputs, without[3].inputs)


def test_what_cannot_have_a_curriculum_says_so(run, complete):
    task = run().task
    with pytest.raises(ValueError, match="s3: a training set of so many sequences has one length, and no curriculum"):
        TrainBatches(task, 0, 8, 4, limit=10, curriculum=linear(run()))
    with pytest.raises(ValueError, match="s3: this curriculum follows the run and takes no workers, got num_workers=2"):
        StreamDataModule(task, **SETTINGS, curriculum=DoubleWhenAccurate(run()), num_workers=2)
    with pytest.raises(ValueError, match="pendulum: a curriculum that doubles when accurate wants a task scored by accuracy, not by mse"):
        DoubleWhenAccurate(run("pendulum"))
    with pytest.raises(ValueError, match=r"s3: a curriculum has a smoothing in \[0, 1\).* got smoothing=1, bar=0.95, patience=1"):
        DoubleWhenAccurate(run(), smoothing=1)
    with pytest.raises(ValueError, match="s3: a linear curriculum takes 1 step or more, got 0"):
        linear(run(), steps=0)
    words = complete("word_problem_file")
    with pytest.raises(ValueError, match="word_problem_file: a training set of so many sequences has one length, and no curriculum"):
        TrainBatches(of_split(words, "train"), 0, 8, 4, curriculum=linear(Run(words, 8, 4, 10, 0)))
