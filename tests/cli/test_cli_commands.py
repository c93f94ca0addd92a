"""Whole commands in processes of their own: what a user sees."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def python(*argv: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess:
    env = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    return subprocess.run([sys.executable, *map(str, argv)], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


def test_the_command_line_needs_no_slow_imports(tmp_path):
    done = python(
        "-c", "import sys, mingru.cli; print({'torch', 'lightning', 'pandas', 'numpy', 'wandb'} & set(sys.modules))", cwd=tmp_path
    )
    assert done.stdout.strip() == "set()"


def test_a_sweep_in_any_order_from_any_folder_ignores_edits_made_while_it_runs(project):
    done = python(project / "train.py", "mixer=givens", "-m", "task=s3", "seed=0-2", "length=8,10", cwd=Path(os.path.sep))
    assert done.returncode == 0, done.stderr
    printed = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert printed == [f"givens {length} {seed}" for seed in range(3) for length in (8, 10)]
    assert "edited" in (project / "conf" / "mixer" / "givens.yaml").read_text()


def test_an_experiment_that_sweeps_runs_its_seeds(project):
    done = python("train.py", "experiment=seeds", cwd=project)
    printed = [line for line in done.stdout.splitlines() if not line.startswith("[")]
    assert printed == [f"{mixer} 64 {seed}" for seed in range(3) for mixer in ("log", "givens")]


@pytest.mark.parametrize("argv", [["seed=0-35"], ["-m", "length=8-9"], ["mixer=givns"]])
def test_a_refused_command_is_one_line_and_leaves_nothing(project, argv):
    done = python("train.py", *argv, cwd=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("train.py: error: ")
    assert done.stderr.count("\n") == 1
    assert not (project / "outputs").exists()


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["mixer=log,delta", "--cfg", "job", "-m", "seed=4-9"], "seed: 4\n"),
        (["--cfg", "hydra", "-p", "hydra.job.name"], "train\n"),
        (["--info", "defaults-tree", "mixer=delta"], "mixer: delta"),
        (["mixer=delta", "--help"], "train is powered by Hydra."),
        (["--hydra-help"], "Hydra"),
        (["--version"], "Hydra 1.3"),
        (["-sc", "install=bash"], "hydra_bash_completion"),
    ],
)
def test_what_only_shows_answers_before_the_slow_imports(project, argv, shown):
    done = python("train.py", *argv, cwd=project)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert not (project / "imported").exists()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("mixer=", "mixer=delta mixer=givens mixer=log"),
        ("mixer=gi", "mixer=givens"),
        ("mixer=log,givens -m seed=0-35 ta", "task. task="),
        ("mixer=givens mixer.b", "mixer.block_size="),
        ("--cfg jo", ""),
    ],
)
def test_the_shell_completes_in_any_word_order(project, typed, completed):
    done = python("train.py", "-sc", "query=bash", cwd=project, COMP_LINE=f"python train.py {typed}")
    assert (done.returncode, done.stdout.strip()) == (0, completed)


@pytest.mark.parametrize(
    ("argv", "mixer"),
    [
        (["mixer=givens", "task=s3_hier", "-m", "seed=0-35"], "givens"),
        (["-m", "mixer=givens,delta,rotation", "task=s3_hier", "length=32,64", "seed=0-11"], "givens"),
        (["mixer=signed", "task=parity"], "signed"),
    ],
)
def test_the_lines_of_the_readme_are_understood(argv, mixer):
    done = python("train.py", *argv, "--cfg", "job", "--package", "mixer._target_", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().split(".")[2] == mixer


def test_the_project_refuses_what_cannot_train_before_anything_runs(tmp_path):
    done = python(ROOT / "train.py", "task=s3_hier", "-m", "length=64,33", "seed=0-1", f"outputs={tmp_path}/runs", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("train.py: error: task=s3_hier length=33 ")
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []
