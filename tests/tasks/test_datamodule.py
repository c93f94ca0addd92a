"""Batches reach a trainer the same whatever the workers and the resume, for a task of any kind."""

import warnings

import lightning as L
import pytest
import torch

from tasks.base import Batch, Task, accuracy, classes, mse, tokens, vectors
from tasks.datamodule import EvaluationBatches, StreamDataModule, TrainBatches

SETTINGS = {
    "seed": 3,
    "length": 8,
    "batch_size": 4,
    "steps": 9,
    "select_length": 16,
    "select_sequences": 200,
    "lengths": [8, 32],
    "sequences": 300,
}


class ElapsedSum:
    """Readings of two sensors at uneven times; the answer, at the end only, is their sum weighted by the gaps."""

    name, inputs, targets, head, metric = "elapsed_sum", vectors(2), vectors(1), "last", mse(bar=0.05)

    def sample(self, generator, batch, length):
        readings = torch.randn(batch, length, 2, generator=generator)
        gaps = torch.rand(batch, length, generator=generator)
        return Batch(readings, self.oracle(Batch(readings, readings, gaps)), gaps)

    def oracle(self, batch):
        return torch.einsum("btf,bt->b", batch.inputs, batch.delta_t)[:, None]

    def check_length(self, length):
        if length < 1:
            raise ValueError(f"{self.name}: length {length} is less than 1; nearest valid: 1")

    def position_chance(self, length):
        return torch.tensor([2 * length / 3], dtype=torch.float64)

    def chance(self, length):
        return self.position_chance(length).mean().item()

    constant = chance


class Recorder(L.LightningModule):
    """Keeps what it is given; its one weight moves with every batch."""

    def __init__(self):
        super().__init__()
        self.weight, self.trained, self.validated, self.tested = torch.nn.Parameter(torch.zeros(())), [], [], {}

    def training_step(self, batch, index):
        self.trained.append(batch)
        return (self.weight * batch.inputs.float().mean() - batch.targets.float().mean()).square()

    def validation_step(self, batch, index):
        self.validated.append(batch)

    def test_step(self, batch, index, dataloader_idx=0):
        self.tested.setdefault(dataloader_idx, []).append(batch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


def trainer(**options):
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    schedule = {"max_epochs": -1, "val_check_interval": 3, "check_val_every_n_epoch": None, "num_sanity_val_steps": 0}
    return L.Trainer(accelerator="cpu", **quiet, **schedule, **options)


def equal(one, other):
    return all((a is None and b is None) or torch.equal(a, b) for a, b in zip(one, other, strict=True))


def all_equal(some, others):
    return len(some) == len(others) and all(equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.fixture(params=["s3_hier", "vectors"])
def task(request, preset):
    return ElapsedSum() if request.param == "vectors" else preset(request.param)


def test_a_vector_task_with_gaps_a_last_position_head_and_an_error_metric_is_a_task():
    task = ElapsedSum()
    batch = task.sample(torch.Generator().manual_seed(0), 4096, 6)
    assert isinstance(task, Task)
    assert not task.metric.higher_is_better
    assert batch.inputs.shape == (4096, 6, 2)
    assert batch.targets.shape == (4096, 1)
    assert batch.delta_t.shape == (4096, 6)
    assert batch.targets.square().mean().item() == pytest.approx(task.chance(6), rel=0.1)


def test_a_trainer_gets_batches_in_order_and_scores_every_sequence(task):
    data, recorder = StreamDataModule(task, **SETTINGS), Recorder()
    run = trainer(max_steps=9)
    run.fit(recorder, datamodule=data)
    run.test(recorder, datamodule=data, verbose=False)
    assert all(isinstance(batch, Batch) for batch in recorder.trained)
    assert all_equal(recorder.trained, [data.train_dataloader().dataset[i] for i in range(9)])
    assert [len(batch.inputs) for batch in recorder.validated] == [128, 72] * 3
    assert [[batch.inputs.shape[:2] for batch in recorder.tested[k]] for k in (0, 1)] == [
        [(128, length), (128, length), (44, length)] for length in (8, 32)
    ]


@pytest.mark.parametrize("stop", [1, 3, 5, 9])
def test_a_resumed_run_goes_on_with_the_next_batch_and_ends_where_the_whole_one_does(task, stop, tmp_path):
    whole, first, second = Recorder(), Recorder(), Recorder()
    trainer(max_steps=9).fit(whole, datamodule=StreamDataModule(task, **SETTINGS))
    interrupted = trainer(max_steps=stop)
    interrupted.fit(first, datamodule=StreamDataModule(task, **SETTINGS))
    interrupted.save_checkpoint(tmp_path / "saved")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not resumable.*")
        data = StreamDataModule(task, **SETTINGS)
        trainer(max_steps=9).fit(second, datamodule=data, ckpt_path=tmp_path / "saved", weights_only=True)
    assert all_equal(first.trained + second.trained, whole.trained)
    assert torch.equal(second.weight, whole.weight)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_the_number_of_workers_changes_nothing(task, num_workers):
    alone, helped = (StreamDataModule(task, **SETTINGS, num_workers=n) for n in (0, num_workers))
    for loader in ("train_dataloader", "val_dataloader"):
        assert all_equal(list(getattr(helped, loader)()), list(getattr(alone, loader)()))


def test_iterating_again_gives_the_same_batches_and_leaves_global_numbers_alone(task):
    data = StreamDataModule(task, **SETTINGS)
    loader, before = data.train_dataloader(), torch.random.get_rng_state()
    assert all_equal(list(loader), list(loader))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_evaluation_is_the_same_for_every_run_and_training_is_not(task):
    one, other = (StreamDataModule(task, **{**SETTINGS, "seed": seed, "batch_size": size}) for seed, size in ((0, 4), (1, 8)))
    assert all_equal(list(one.val_dataloader()), list(other.val_dataloader()))
    assert all_equal(list(one.loader("fresh", 16, 10)), list(other.loader("fresh", 16, 10)))
    assert not torch.equal(one.train_dataloader().dataset[0].inputs, other.train_dataloader().dataset[0].inputs[:4])


def test_more_sequences_extend_the_same_list(task):
    few, many = ([*EvaluationBatches(task, "test", 8, sequences)] for sequences in (150, 256))
    assert [len(batch.inputs) for batch in few] == [128, 22]
    assert equal(few[0], many[0])
    assert equal(few[1], Batch(*(None if field is None else field[:22] for field in many[1])))


def test_splits_and_lengths_are_different_lists(task):
    data = StreamDataModule(task, **SETTINGS)
    keys = [("validation", 16), ("fresh", 16), ("test", 16), ("test", 32)]
    firsts = [next(iter(data.loader(split, length, 128))).inputs[:, :16] for split, length in keys]
    assert not any(torch.equal(a, b) for i, a in enumerate(firsts) for b in firsts[:i])


@pytest.mark.parametrize("key", ["length", "select_length", "lengths"])
def test_a_length_that_the_task_cannot_have_is_refused_before_anything_is_drawn(preset, key):
    with pytest.raises(ValueError, match="s3_hier: length 7 is not a multiple of 2 tokens; nearest valid: 6 and 8"):
        StreamDataModule(preset("s3_hier"), **{**SETTINGS, key: [8, 7] if key == "lengths" else 7})


def sequences(batches):
    return [row for batch in batches for row in map(tuple, batch.inputs.tolist())]


@pytest.mark.parametrize("limit", [10, 100, 250])
def test_a_limited_training_set_is_the_first_sequences_of_the_stream_in_a_new_order_each_round(preset, limit):
    task = preset("s3")
    stream = TrainBatches(task, 5, 16, 32)
    first = sequences(stream[i] for i in range(8))[:limit]
    batches = TrainBatches(task, 5, 16, 32, limit)
    drawn = sequences(batches[i] for i in range(-(-3 * limit // 32)))
    rounds = [drawn[i * limit : (i + 1) * limit] for i in range(3)]
    assert all(sorted(each) == sorted(first) for each in rounds)
    assert rounds[0] != rounds[1] != rounds[2]
    assert all(torch.equal(batches[i].targets, task.oracle(batches[i])) for i in (0, 7))


def test_a_batch_of_a_limited_set_depends_on_its_number_alone(preset):
    one, other = (TrainBatches(preset("s3"), 0, 16, 32, 100) for _ in range(2))
    for index in (7, 0, 31, 2):
        assert equal(one[index], other[index])
    [other[i] for i in range(20)]
    assert equal(one[9], other[9])


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_a_limited_set_reaches_a_trainer_and_workers_and_seeds_of_its_own(preset):
    build = [
        StreamDataModule(preset("s3"), **{**SETTINGS, "seed": seed}, train_sequences=6, num_workers=n)
        for seed, n in ((3, 0), (3, 2), (4, 0))
    ]
    alone, helped, other = (list(data.train_dataloader()) for data in build)
    assert all_equal(alone, helped)
    assert len(set(sequences(alone))) == 6
    assert set(sequences(alone)).isdisjoint(sequences(other))
    with pytest.raises(ValueError, match="1 sequence or more, got 0"):
        TrainBatches(preset("s3"), 0, 16, 32, 0)


class Deck:
    """Forty numbered cards, twenty of them to train on; the answer is the card."""

    name, inputs, targets, head, metric = "deck", tokens(40), classes(40), "per_position", accuracy(0.99)

    def __init__(self, split="test"):
        first, last = {"train": (0, 20), "validation": (20, 25), "fresh": (25, 30), "test": (30, 40)}[split]
        self.cards = torch.arange(first, last)

    def split(self, name):
        return Deck(name)

    def examples(self, length):
        cards = self.cards[:, None].expand(-1, length)
        return Batch(cards, cards)


def test_a_task_of_so_many_sequences_is_trained_on_in_rounds_and_evaluated_once_each():
    batches = TrainBatches(Deck(), 0, 1, 8)
    drawn = torch.cat([batches[i].inputs[:, 0] for i in range(5)]).tolist()
    assert sorted(drawn[:20]) == sorted(drawn[20:]) == list(range(20))
    assert drawn[:20] != drawn[20:]
    for split, first, last in (("validation", 20, 25), ("fresh", 25, 30), ("test", 30, 40)):
        evaluation = EvaluationBatches(Deck(), split, 1, 8)
        assert [batch.inputs[:, 0].tolist() for batch in evaluation] == [list(range(first, min(last, first + 8)))]
