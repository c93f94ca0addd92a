"""What every task of conf/task promises: shapes, answers, floors, lengths, streams."""

import pickle

import pytest
import torch
from omegaconf import OmegaConf

from mingru import settings
from tasks.base import IGNORE, Batch, Task
from tasks.datamodule import EvaluationBatches, TrainBatches
from tasks.lengths import is_prefix_closed, valid_lengths
from tests.tasks.conftest import PRESETS, TASKS, WORDS

LENGTHS = {"psmnist": 784, "psmnist_bitreversed": 784, "digits": 64, "word_problem_file": WORDS, "selective_copying": 40}
# No answer follows from the inputs, or not at every position.
UNDETERMINED = {"pendulum", "pendulum_images", "char_lm"}
# Floors that are themselves estimates.
ESTIMATED = {"listops", "pendulum", "pendulum_images"}


@pytest.fixture(params=PRESETS)
def name(request):
    return request.param


@pytest.fixture
def task(complete, name):
    return complete(name)


@pytest.fixture
def length(name):
    return LENGTHS.get(name, 32)


def drawn(task, batch, length, seed=7):
    return task.sample(torch.Generator().manual_seed(seed), batch, length)


def test_a_preset_says_what_it_is_for_and_is_named_after_its_file(name, task):
    lines = (TASKS / f"{name}.yaml").read_text().splitlines()
    assert lines[0].startswith("# ")
    assert all(len(line) <= 140 for line in lines)
    assert OmegaConf.load(TASKS / f"{name}.yaml").name == task.name == name
    assert isinstance(task, Task)


def test_a_batch_has_the_kind_shape_and_range_that_the_task_states(task, length):
    batch = drawn(task, 5, length)
    inputs = (5, length) if task.inputs.kind == "tokens" else (5, length, task.inputs.size)
    targets = (5,) if task.head == "last" else (5, length)
    assert batch.inputs.shape == inputs
    assert batch.inputs.dtype == (torch.int64 if task.inputs.kind == "tokens" else torch.float32)
    assert batch.targets.shape == targets + (() if task.targets.kind == "classes" else (task.targets.size,))
    assert batch.targets.dtype == (torch.int64 if task.targets.kind == "classes" else torch.float32)
    assert task.head in ("per_position", "last", "autoencode")
    for field, space in ((batch.inputs, task.inputs), (batch.targets, task.targets)):
        assert field.is_contiguous()
        if space.kind != "vectors":
            assert 0 <= field[field != IGNORE].min() <= field.max() < space.size
    assert (task.metric.name == "accuracy") == (task.targets.kind == "classes") == task.metric.higher_is_better


def test_gaps_are_finite_and_not_negative(task, length):
    gaps = drawn(task, 5, length).delta_t
    assert (gaps is not None) == getattr(task, "timed", False)
    if gaps is not None:
        assert gaps.shape == (5, length)
        assert gaps.dtype == torch.float32
        assert torch.isfinite(gaps).all()
        assert (gaps >= 0).all()


def test_the_oracle_is_right_wherever_an_answer_is_determined(name, task, length):
    batch = drawn(task, 16, length)
    scored = batch.targets != IGNORE
    answers = task.oracle(batch)
    assert answers.shape == batch.targets.shape
    if name not in UNDETERMINED:
        assert torch.equal(answers[scored], batch.targets[scored])


def best_shares(targets, n_classes):
    """How often the commonest class is right: at each position, over the times that it is scored, and one class at all of them."""
    place = torch.arange(targets.shape[1]) * n_classes
    scored = targets != IGNORE
    counts = (targets + place)[scored].bincount(minlength=n_classes * targets.shape[1]).view(-1, n_classes).double()
    return counts.max(1).values / scored.sum(0), counts.sum(0).max() / scored.sum()


def test_floors_are_what_counting_gives(name, task, length):
    targets = drawn(task, 200 if name == "pendulum_images" else 4000, length).targets
    if task.metric.name == "mse":
        position, whole = targets.var(0).mean(-1), targets.flatten(0, -2).var(0).mean()
    else:
        position, whole = best_shares(targets.view(len(targets), -1), task.targets.size)
    chance = task.position_chance(length)
    assert chance.dtype == torch.float64
    assert chance.shape == position.shape
    tolerance = 0.05 if name in ESTIMATED else 0.03
    never = chance.isnan()
    assert not position[never].nan_to_num().any()
    torch.testing.assert_close(position[~never].double(), chance[~never], rtol=0.1, atol=tolerance)
    assert task.constant(length) == pytest.approx(float(whole), abs=tolerance)
    sign = 1 if task.metric.higher_is_better else -1
    assert sign * task.constant(length) <= sign * task.chance(length) + 1e-12
    assert task.chance(length) == pytest.approx(chance[~never].mean().item(), rel=1e-12)


def test_a_generator_in_the_same_state_gives_the_same_batch(task, length):
    one, other, third = (drawn(task, 4, length, seed) for seed in (1, 1, 2))
    assert all(a is None or torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert not torch.equal(one.inputs, third.inputs)


def test_a_sample_draws_from_nothing_but_its_generator(task, length):
    before = torch.random.get_rng_state()
    drawn(task, 4, length)
    task.chance(length)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_impossible_lengths_and_batches_are_one_line(name, task, length):
    for call in (task.check_length, task.chance, task.constant, task.position_chance, lambda n: drawn(task, 1, n)):
        with pytest.raises(ValueError, match=f"^{name}: length 0 ") as error:
            call(0)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=f"^{name}: a batch has 1 sequence or more, got 0$"):
        drawn(task, 0, length)


def test_sequences_of_a_prefix_closed_task_cut_short_are_sequences(name, task, length):
    if not is_prefix_closed(task):
        assert name not in ("s3", "s3_hier", "session_parity", "dyck", "pendulum")
        return
    whole = drawn(task, 64, length)
    for shorter in valid_lengths(task, length):
        cut = Batch(*(None if field is None else field[:, :shorter] for field in whole))
        if name not in UNDETERMINED:
            assert torch.equal(task.oracle(cut), cut.targets)
        torch.testing.assert_close(task.position_chance(shorter), task.position_chance(length)[:shorter])


def test_valid_lengths_are_those_that_pass_the_check(name, task, length):
    lengths = valid_lengths(task, length)
    assert length in lengths
    assert lengths == {"s3_hier": list(range(2, length + 1, 2)), "s3": list(range(1, length + 1))}.get(name, lengths)


def test_no_training_sequence_is_one_of_an_evaluation(task, length):
    def rows(batches):
        return {row.numpy().tobytes() for batch in batches for row in batch.inputs}

    train = rows(TrainBatches(task, seed, length, 16)[index] for seed in (0, 1) for index in range(4))
    splits = [rows(EvaluationBatches(task, split, length, 64)) for split in ("validation", "fresh", "test")]
    for i, one in enumerate([train, *splits]):
        for other in [train, *splits][:i]:
            assert one.isdisjoint(other)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("psmnist", "psmnist: task.folder names the folder with the four IDX files"),
        ("automaton", "task.group.file=mine.json"),
        ("word_problem_file", "word_problem_file: task.group names the group and task.file the file"),
    ],
)
def test_a_task_of_files_says_which_setting_names_them(name, message):
    node = OmegaConf.to_container(OmegaConf.load(TASKS / f"{name}.yaml"))
    node.pop("extractor")
    with pytest.raises(ValueError, match=message):
        settings.build(node)


def test_a_task_can_be_sent_to_a_worker_process(task, length):
    sent = pickle.loads(pickle.dumps(task))
    assert torch.equal(drawn(sent, 2, length).inputs, drawn(task, 2, length).inputs)
