import itertools

import pytest
from hydra._internal.utils import get_args_parser
from hypothesis import given
from hypothesis import strategies as st

from mingru.cli.refusal import Refusal
from mingru.cli.words import completion_line, read, split


def taken_apart(argv: list[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    return split(argv, get_args_parser())


GROUPS = [["mixer=givens"], ["-m"], ["seed=0-35"], ["--cfg", "job"], ["-cd", "extra"]]


@given(st.permutations(GROUPS))
def test_any_word_order_reads_the_same(order):
    line = read(list(itertools.chain(*order)))
    assert sorted(line.overrides) == ["mixer=givens", "seed=0-35"]
    assert line.args.multirun
    assert (line.args.cfg, line.args.config_dir) == ("job", "extra")


@pytest.mark.parametrize(
    "flags",
    [
        ["-m"],
        ["--multirun"],
        ["--mul"],
        ["--config-dir", "extra"],
        ["--config-dir=extra"],
        ["-cd", "extra"],
        ["-cp", "elsewhere"],
        ["-cn", "other"],
        ["--package", "mixer"],
        ["--info"],
        ["-i", "defaults-tree"],
        ["--cfg", "job"],
        ["--hydra-help"],
        ["-h"],
        ["-sc"],
        ["--experimental-rerun", "config.pickle"],
    ],
)
def test_a_flag_keeps_its_value_and_lets_overrides_stand_on_both_sides(flags):
    overrides, found = taken_apart(["mixer=log", *flags, "seed=1", "length=8"])
    assert overrides == ["mixer=log", "seed=1", "length=8"]
    assert found == [tuple(flags)]


def test_the_order_of_overrides_stays():
    assert taken_apart(["b=1", "-m", "a=2", "--", "c=3"])[0] == ["b=1", "a=2", "c=3"]


def test_flags_are_dropped_by_their_long_name_however_they_are_written():
    line = read(["-m", "-cp", "a", "--config-path=b", "--cfg", "job"])
    assert line.flags_without("multirun", "config_path") == ["--cfg", "job"]


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["--sead", "3"], "--sead: no such flag"),
        (["--multirum"], "did you mean --multirun?"),
        (["--seed=3"], "settings are key=value, without dashes"),
        (["--cfg", "jb"], "invalid choice: 'jb'"),
        (["--cfg"], "expected one argument"),
        (["-m", "-r"], "--multirun --run: only one of these"),
        (["--cfg", "job", "--info"], "--cfg --info: only one of these"),
        (["-sc"], "--shell-completion: wanted install="),
        (["-sc", "query=tcsh"], "with bash, fish or zsh"),
        (["--experimental-rerun", "nowhere.pickle"], "nowhere.pickle: no such file"),
        (["--resolve"], "--resolve: wanted together with"),
        (["givens"], "givens: wanted key=value"),
        (["=3"], "=3: wanted key=value"),
        (["mixer", "=", "givens"], "mixer: wanted key=value"),
        ([""], ": wanted key=value"),
    ],
)
def test_words_that_mean_nothing_are_refused(argv, complaint):
    with pytest.raises(Refusal) as refused:
        read(argv)
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("typed", "for_hydra"),
    [
        ("python train.py mi", "python train.py -m mi"),
        ("python train.py ", "python train.py -m "),
        ("python3.11 /home/me/train.py mixer=givens -m seed=0-35 ta", "python train.py -m mixer=givens ta"),
        ("./train.py -m mixer=log,givens lr=0.1 ", "python train.py -m mixer=log,givens lr=0.1 "),
        ("python train.py --info mixer=", "python train.py -m mixer="),
        ("python train.py --mul", None),
        ("python train.py mixer=log --cfg ", None),
        ("python train.py mixer=log --cfg jo", None),
    ],
)
def test_a_line_to_complete_is_rewritten_for_hydra(typed, for_hydra):
    assert completion_line(typed, "train.py") == for_hydra
