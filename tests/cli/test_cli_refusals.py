from pathlib import Path

import pytest
from hydra.errors import InstantiationException
from omegaconf import OmegaConf

from mingru import cli
from mingru.cli.plan import plan
from mingru.cli.refusal import Refusal, reason


def refusal(argv: list[str], conf: Path) -> str:
    with pytest.raises(Refusal) as refused:
        plan(argv, conf)
    return str(refused.value)


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("mixer=givns", "mixer=givns: no mixer named 'givns' (did you mean givens?); valid: delta, givens, log"),
        ("task=party", "task=party: no task named 'party' (did you mean parity?); valid: parity, s3"),
        ("experiment=sed", "experiment=sed: no experiment named 'sed' (did you mean seeds?); valid: misnamed, seeds, stacked"),
        ("mixer=", "mixer=: no mixer named ''; valid: delta, givens, log"),
        ("mixer=log/givens", "mixer=log/givens: no mixer named 'log/givens' (did you mean givens?); valid: delta, givens, log"),
        ("mixer=3", "mixer=3: wanted one name; valid: delta, givens, log"),
        ("mixer=null", "mixer=null: wanted one name; valid: delta, givens, log; ~mixer chooses none"),
        ("mixer=[log,givens]", "mixer=[log,givens]: wanted one name; valid: delta, givens, log; layers in order are stack=[log,givens]"),
    ],
)
def test_an_unknown_choice_is_told_the_nearest_and_the_valid_names(conf, override, line):
    assert refusal([override], conf) == line


@pytest.mark.parametrize("override", ["hydra/launcher=basik", "hydra/launchr=basic"])
def test_hydras_own_groups_are_told_their_choices_too(conf, override):
    message = refusal([override], conf)
    assert message.startswith(f"{override}: no ")
    assert "did you mean" in message


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("mixre=log", "mixre=log: no key 'mixre' (did you mean mixer?); valid: "),
        ("sede=0-3", "sede=0-3: no key 'sede' (did you mean seed?); valid: "),
        ("mixer.blok_size=4", "mixer.blok_size=4: no key 'blok_size' in mixer (did you mean block_size?); valid: block_size, name"),
    ],
)
def test_a_misspelt_key_is_told_the_nearest_and_the_valid_keys(conf, override, line):
    assert refusal([override], conf).startswith(line)


def test_the_valid_keys_of_the_top_are_the_config_and_its_groups(conf):
    assert refusal(["x=1"], conf).endswith("valid: experiment, extractor, length, lr, mixer, outputs, seed, stack, stop, task")


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("mixer={", "not in Hydra's grammar: no viable alternative"),
        ("lr=a b;c", "not in Hydra's grammar: unexpected ';' at character 7; quote the value"),
        ("a b=3", "not in Hydra's grammar: unexpected ' ' at character 2"),
        ("seed=range(0,4", "not in Hydra's grammar"),
        ("lr=nothing(3)", "Unknown function 'nothing'"),
    ],
)
def test_what_hydra_cannot_parse_is_named(conf, override, complaint):
    message = refusal([override], conf)
    assert message.startswith(f"{override}: ")
    assert complaint in message


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["hydra.job.chdir=perhaps"], "hydra.job.chdir=perhaps: Value 'perhaps' is not a valid bool"),
        (["hydra.mode=both"], "hydra.mode=both: Invalid value 'both', expected one of [RUN, MULTIRUN]"),
        (["~nothing"], "'nothing' does not exist"),
        (["-m", "lr=interval(0,1)"], "lr=interval(0,1): an interval can't be listed"),
        (["-m", "lr=range(3,1)"], "lr=range(3,1): names no value"),
        (["-m", "hydra.job.chdir=true,false"], "Sweeping over Hydra's configuration is not supported"),
        (["-cn", "other"], "Cannot find primary config 'other'"),
        (["-cp", "elsewhere"], "--config-path elsewhere: no such folder"),
        (["-cd", "elsewhere"], "--config-dir elsewhere: no such folder"),
        (["experiment=misnamed"], "mixer=givns (from a defaults list): no mixer named 'givns' (did you mean givens?)"),
        (["outputs=${nowhere}"], "outputs: Interpolation key 'nowhere' not found"),
        (["stop=significant"], "stop=significant: compares the cells of a sweep; add -m"),
        (["-m", "mixer=log,givens", "stop=significant"], "hydra/sweeper=basic: cannot stop early; wanted resuming"),
        (["outputs=null"], "outputs=None: wanted a folder"),
        (["outputs="], "outputs=: wanted a folder"),
    ],
)
def test_other_mistakes_are_one_message_too(conf, argv, complaint):
    message = refusal(argv, conf)
    assert complaint in message
    assert "\n" not in message


def test_a_sweep_names_the_value_that_is_wrong(conf):
    assert refusal(["-m", "mixer=log,givns", "seed=0-3"], conf).startswith("mixer=givns: no mixer named")
    assert refusal(["-m", "mixer=givens,log", "mixer.block_size=4"], conf).startswith("mixer.block_size=4: no key 'block_size' in mixer")


@pytest.mark.parametrize("text", ["a: [1, 2", "a: 1\na: 2", "a: b: c"])
def test_broken_yaml_is_named_with_its_line(conf, text):
    Path(conf, "mixer", "log.yaml").write_text(text)
    message = refusal(["mixer=log"], conf)
    assert f"{Path('mixer', 'log.yaml')}, line " in message
    assert "\n" not in message


@pytest.fixture
def installed(conf, monkeypatch):
    def install(*argv: str) -> None:
        monkeypatch.setattr("sys.argv", ["train.py", *argv])
        cli.install(conf=conf)

    return install


def exit_line(capsys) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err.rstrip("\n")


def test_a_refused_line_exits_with_2_and_one_line_and_leaves_nothing(installed, conf, capsys):
    before = sorted(conf.parent.rglob("*"))
    with pytest.raises(SystemExit) as left:
        installed("mixer=log\nx")
    assert left.value.code == 2
    assert exit_line(capsys).startswith("train.py: error: mixer=log x: ")
    assert sorted(conf.parent.rglob("*")) == before


def test_the_error_behind_a_line_is_shown_on_request(installed, capsys, monkeypatch):
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(SystemExit):
        installed("mixer=givns")
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("train.py: error: mixer=givns: ")


def test_check_sees_each_cell_and_the_folder_it_came_from(installed, conf):
    installed("-m", "mixer=log,givens", "length=8-9", "seed=0-5")
    seen = []
    cli.check(lambda cfg, folder: seen.append((cfg.mixer.name, cfg.length, folder)))
    assert seen == [(mixer, length, conf) for mixer in ("log", "givens") for length in (8, 9)]


def test_check_sees_nothing_of_a_command_that_only_shows(installed, capsys):
    with pytest.raises(SystemExit) as left:
        installed("--cfg", "job", "mixer=log")
    assert left.value.code == 0
    cli.check(lambda cfg, folder: pytest.fail("a shown config was checked"))
    assert "name: log" in capsys.readouterr().out


def refuse_odd(cfg, folder) -> None:
    if cfg.length % 2:
        raise ValueError(f"length={cfg.length}: wanted an even length")


def test_a_cell_that_does_not_check_is_named_in_a_sweep(installed, conf, capsys):
    before = sorted(conf.parent.rglob("*"))
    installed("-m", "mixer=log", "length=8-9", "seed=0-5")
    with pytest.raises(SystemExit) as left:
        cli.check(refuse_odd)
    assert left.value.code == 2
    assert exit_line(capsys) == "train.py: error: mixer=log length=9: length=9: wanted an even length"
    assert sorted(conf.parent.rglob("*")) == before


def test_a_single_run_that_does_not_check_is_told_why(installed, capsys):
    installed("length=9")
    with pytest.raises(SystemExit):
        cli.check(refuse_odd)
    assert exit_line(capsys) == "train.py: error: length=9: wanted an even length"


def test_a_wrapped_error_gives_its_innermost_message():
    error = InstantiationException("Error in call to target 'x.Y':\nValueError('no')\nfull_key: mixer")
    error.__cause__ = ValueError("d_model 60 is not a multiple of 8")
    assert reason(error) == "mixer: d_model 60 is not a multiple of 8"
    with pytest.raises(Exception) as missing:  # noqa: PT011
        OmegaConf.create({"a": {"b": "${nowhere}"}}).a.b  # noqa: B018
    assert reason(missing.value) == "a.b: Interpolation key 'nowhere' not found"
