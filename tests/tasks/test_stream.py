"""Streams: a function of their keys, disjoint, and no one else's business."""

import random

import numpy as np
import pytest
import torch

from tasks.datamodule import EvaluationBatches, TrainBatches
from tasks.stream import generator


def numbers(*keys, count=64):
    return torch.randint(2**31, (count,), generator=generator(*keys)).tolist()


def row_prefixes(inputs):
    """Every row's first 64 tokens: enough that two equal ones are no accident."""
    return [row.tobytes() for row in inputs[:, :64].to(torch.uint8).numpy()]


def test_the_same_keys_give_the_same_numbers():
    assert numbers("s3", "train", 0, 5) == numbers("s3", "train", 0, 5)


def test_different_keys_give_different_numbers():
    keys = [
        ("s3", "train", 0, 5),
        ("s3", "train", 5, 0),
        ("s3", "train", 0, "5"),
        ("s3train", 0, 5),
        ("s3", "train", 0),
        ("s3", "train", 0, -5),
    ]
    keys += [("s3", "train", 1, 23), ("s3", "train", 12, 3), ("s3", "train", 0, 5 + 2**32), ("s3", "train", 0, 5 + 2**64)]
    assert len({tuple(numbers(*key)) for key in keys}) == len(keys)


def test_the_whole_state_depends_on_the_keys():
    """Seeding would set one word of 32 bits and derive the rest from it."""
    one, other = (generator("s3", "train", 0, index).get_state().view(torch.int64)[3:627] for index in (0, 1))
    assert (one != other).sum() > 620
    assert len(one.unique()) > 620
    assert 0 <= one.min() <= one.max() < 2**32


def test_the_numbers_of_a_stream_never_change():
    assert torch.randint(6, (12,), generator=generator("s3", "train", 0, 0)).tolist() == [3, 3, 0, 0, 0, 4, 3, 4, 1, 4, 2, 2]


def test_numbers_are_spread_evenly():
    drawn = torch.cat([torch.randint(6, (6000,), generator=generator("spread", index)) for index in range(10)])
    assert drawn.bincount() == pytest.approx([10_000] * 6, rel=0.04)
    normal = torch.randn(60_000, generator=generator("spread"))
    assert normal.mean().abs() < 0.02
    assert abs(normal.std() - 1) < 0.02


@pytest.mark.parametrize("key", [1.0, True, None, ("s3",), np.int64(3)])
def test_a_key_that_is_neither_string_nor_integer_is_refused(key):
    with pytest.raises(TypeError, match="named by strings and integers"):
        generator("s3", key)


def test_global_random_numbers_neither_change_a_stream_nor_are_changed_by_it(preset):
    batches = TrainBatches(preset("s3"), seed=0, length=16, batch_size=4)
    first = batches[3].inputs
    torch.manual_seed(99), np.random.seed(99), random.seed(99)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    assert torch.equal(batches[3].inputs, first)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()
    assert random.getstate() == before[2]


@pytest.mark.parametrize("name", ["parity", "s3", "s3_hier", "a5", "session_parity"])
def test_streams_of_100_seeds_every_split_and_every_length_are_disjoint(preset, name):
    task, rows = preset(name), []
    for seed in range(100):
        train = TrainBatches(task, seed, length=64, batch_size=128)
        rows += [row for index in (0, 1, 1599) for row in row_prefixes(train[index].inputs)]
    for split, length in [("validation", 128), ("fresh", 128), *(("test", n) for n in (64, 128, 256, 512, 1024))]:
        evaluation = EvaluationBatches(task, split, length, sequences=512)
        rows += [row for batch in evaluation for row in row_prefixes(batch.inputs)]
    assert len(rows) == 100 * 3 * 128 + 7 * 512
    assert len(set(rows)) == len(rows)


def test_a_run_never_sees_a_batch_twice(preset):
    batches = TrainBatches(preset("s3"), seed=0, length=64, batch_size=16)
    rows = [row for index in range(400) for row in row_prefixes(batches[index].inputs)]
    assert len(set(rows)) == len(rows) == 6400
