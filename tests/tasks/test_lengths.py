"""Which lengths a config takes when nobody gives them, and what tells of every length."""

import pytest
from omegaconf import OmegaConf, flag_override

import train
from mingru import settings
from tasks.datamodule import passes
from tests.composed import composed
from tests.tasks.conftest import PRESETS, WORDS

# Tasks of one length.
LENGTHS = {"psmnist": 784, "psmnist_bitreversed": 784, "digits": 64, "word_problem_file": WORDS}


@pytest.fixture(scope="module")
def base():
    return composed()


@pytest.fixture
def configured(base, file_settings, task_folder):
    """A task's config with the files it wants."""

    def compose(name, *overrides):
        task = OmegaConf.merge(OmegaConf.load(task_folder / f"{name}.yaml"), file_settings(name))
        config = OmegaConf.merge(base, OmegaConf.from_dotlist([f"length={LENGTHS.get(name, 64)}", *overrides]))
        with flag_override(config, "struct", False):
            config.task = task
        return config

    return compose


@pytest.mark.parametrize("name", PRESETS)
def test_a_run_of_any_task_is_checked_without_being_started(configured, name):
    """And the lengths at which it is selected and tested are some that the task has."""
    train.check(configured(name), settings.CONF)


@pytest.mark.parametrize("name", LENGTHS)
def test_a_task_of_one_length_is_selected_and_tested_at_that_length(configured, name):
    length = LENGTHS[name]
    evaluation = train.resolve(configured(name))[0]["evaluation"]
    assert (evaluation["select_length"], evaluation["lengths"]) == (length, [length])
    for override in (f"evaluation.select_length={length + 1}", f"evaluation.lengths=[{length},{length + 1}]", f"length={length + 1}"):
        with pytest.raises(ValueError, match=f"length {length + 1} .*nearest valid: {length}"):
            train.resolve(configured(name, override))


def test_of_the_usual_test_lengths_those_that_the_task_has_are_kept(configured):
    """A text of 20,000 characters has no windows of 1,024 in every split."""
    evaluation = train.resolve(configured("char_lm"))[0]["evaluation"]
    assert (evaluation["select_length"], evaluation["lengths"]) == (128, [64, 256, 512])


def test_what_tells_of_every_length_is_one_pass_where_sequences_cut_short_are_sequences(complete):
    assert passes(complete("s3"), 5) == [(5, [1, 2, 3, 4, 5])]
    assert passes(complete("s3_hier"), 5) == [(4, [2, 4])]
    assert passes(complete("in_context_recall"), 9) == [(4, [4]), (6, [6]), (8, [8])]
    assert passes(complete("pendulum"), 3) == [(1, [1]), (2, [2]), (3, [3])]
    assert passes(complete("s3"), None) == []
    with pytest.raises(ValueError, match="digits: has no length up to 63 to evaluate"):
        passes(complete("digits"), 63)
