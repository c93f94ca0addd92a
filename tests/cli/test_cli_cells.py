from pathlib import Path

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from mingru.cli.plan import Plan, plan
from mingru.cli.refusal import Refusal


def cells(planned: Plan) -> list[tuple]:
    return [(cell.config.mixer.name, cell.config.length, cell.config.seed) for cell in planned.cells]


def jobs(planned: Plan) -> list[list[str]]:
    """The jobs that BasicSweeper makes of the line for Hydra, `hydra.sweeper.params` left aside."""
    own = [word for word in planned.argv if "=" in word and not word.lstrip("+").startswith("hydra")]
    return BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(own), None)[0]


def refusal(argv: list[str], conf: Path) -> str:
    with pytest.raises(Refusal) as refused:
        plan(argv, conf)
    return str(refused.value)


def test_a_single_run_is_composed_once_and_keeps_its_line(conf):
    planned = plan(["mixer=log", "seed=3", "task=parity"], conf)
    assert planned.argv == ("mixer=log", "seed=3", "task=parity")
    assert cells(planned) == [("log", 64, 3)]
    assert "hydra" not in planned.cells[0].config
    assert planned.snapshots == ()


def test_the_main_command_makes_36_jobs_of_one_cell(conf):
    planned = plan(["mixer=givens", "task=s3", "-m", "seed=0-35"], conf)
    assert jobs(planned) == [["mixer=givens", "task=s3", f"seed={n}"] for n in range(36)]
    assert cells(planned) == [("givens", 64, 0)]
    assert planned.cells[0].label == "mixer=givens task=s3"


def test_every_distinct_cell_is_composed_once_whatever_the_seeds(conf):
    planned = plan(["-m", "seed=5-9", "mixer=givens,log", "length=32-33,64"], conf)
    assert len(jobs(planned)) == 30
    assert cells(planned) == [(mixer, length, 5) for mixer in ("givens", "log") for length in (32, 33, 64)]


def test_a_glob_over_the_mixers_lists_them_all(conf):
    assert [cell[0] for cell in cells(plan(["-m", "mixer=glob(*)"], conf))] == ["delta", "givens", "log"]


def test_lists_are_values_of_a_sweep_and_keep_their_commas(conf):
    planned = plan(["-m", "stack=[log,givens],[delta]"], conf)
    assert [list(cell.config.stack) for cell in planned.cells] == [["log", "givens"], ["delta"]]


def test_the_last_of_a_key_given_twice_wins(conf):
    assert cells(plan(["-m", "mixer=log", "seed=0-3", "mixer=delta", "seed=7"], conf)) == [("delta", 64, 7)]


def test_an_experiment_may_write_its_sweep_as_the_command_line_does(conf):
    planned = plan(["experiment=seeds"], conf)
    assert cells(planned) == [("log", 64, 0), ("givens", 64, 0)]
    assert "seed=range(0,3)" in planned.argv


def test_the_command_line_wins_over_the_experiments_sweep(conf):
    planned = plan(["experiment=seeds", "seed=7-8"], conf)
    assert cells(planned) == [("log", 64, 7), ("givens", 64, 7)]
    assert "seed=range(0,3)" not in planned.argv


def test_sweeper_params_on_the_command_line_expand(conf):
    planned = plan(["-m", "hydra.sweeper.params.seed=2-3,9", "hydra.sweeper.params.mixer=log"], conf)
    assert cells(planned) == [("log", 64, 2)]
    assert "++hydra.sweeper.params.seed='2,3,9'" in planned.argv


@pytest.mark.parametrize(("value", "complaint"), [("5-2", "backwards"), ("0-3,1", "twice"), ("range(3,3)", "names no values")])
def test_a_bad_range_in_an_experiment_is_refused_by_name(conf, value, complaint):
    Path(conf, "experiment", "bad.yaml").write_text(f"# @package _global_\nhydra: {{sweeper: {{params: {{seed: '{value}'}}}}}}\n")
    message = refusal(["-m", "experiment=bad"], conf)
    assert message.startswith(f"hydra.sweeper.params.seed={value}: ")
    assert complaint in message


def test_two_experiments_with_sweeps_of_their_own_do_not_run_at_once(conf):
    assert "one such experiment at a time" in refusal(["-m", "experiment=seeds,stacked"], conf)


@pytest.mark.parametrize("override", ["seed=0-35", "seed=1,2", "mixer=log,givens", "lr=0.1,0.2", "seed=range(0,3)", "lr=interval(0,1)"])
def test_several_values_without_multirun_say_to_add_it(conf, override):
    assert refusal([override], conf) == f"{override}: several values are a sweep; add -m to run it"


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["stack=[log,givens]", "mixer=log"], "mixer=log"),
        (["extractor=log", "stack=[givens]"], "extractor=log"),
        (["stack=[givens]", "mixer.block_size=4"], "mixer.block_size=4"),
        (["-m", "stack=[givens],[log]", "mixer=log,delta"], "mixer=log"),
        (["experiment=stacked", "mixer=log"], "mixer=log"),
    ],
)
def test_a_stack_beside_a_mixer_or_an_extractor_is_refused(conf, argv, named):
    assert refusal(argv, conf) == f"{named}: the stack sets the layers outright; leave one of the two out"


def test_a_null_stack_leaves_the_mixer_alone(conf):
    assert cells(plan(["stack=null", "mixer=log"], conf)) == [("log", 64, 0)]


@pytest.mark.parametrize("flags", [["--cfg", "job"], ["--info", "config"], ["--help"]])
def test_showing_a_sweep_shows_its_first_job(conf, flags):
    planned = plan(["mixer=log,givens", *flags, "-m", "seed=3-9", "hydra.job.name=x"], conf)
    assert planned.shows
    assert planned.argv == ("hydra.job.name=x", "mixer=log", "seed=3", *flags)
    assert planned.snapshots == ()


def test_showing_an_experiment_that_sweeps_shows_its_first_job(conf):
    planned = plan(["--cfg", "job", "experiment=seeds"], conf)
    assert planned.argv == ("seed=0", "mixer=log", "experiment=seeds", "--cfg", "job")


def test_a_plan_of_a_planned_line_is_the_same(conf, tmp_path):
    first = plan(["mixer=log,givens", "-m", "seed=0-3,7", f"outputs={tmp_path}/out"], conf)
    for snapshot in first.snapshots:
        snapshot.write()
    again = plan(first.argv, conf)
    assert again.argv == first.argv
    assert cells(again) == cells(first)
