"""What a task is: python scripts/show_task.py task=s3_hier (the words are train.py's); --docs renews docs/tasks.md"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    # In place of this folder, whose file names would hide modules of the same name.
    sys.path[0] = str(PROJECT)

import torch
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

import train
from mingru import settings
from mingru.result import count_parameters
from tasks import describe
from tasks.base import Task

PAGE = PROJECT / "docs" / "tasks.md"
BEGIN, END = "<!-- scripts/show_task.py: begin -->", "<!-- scripts/show_task.py: end -->"
# They want a file, or a package, or depend on the machine: the page says what they are and shows no numbers.
ELSEWHERE = ("automaton", "char_lm", "digits", "psmnist", "psmnist_bitreversed", "word_problem_file")
# Seconds per token of a training step on two cores, without the head and for each class in it: a rough guide (docs/performance.md).
PER_TOKEN, PER_CLASS = 6e-6, 2e-8


def composed(words: list[str]) -> DictConfig:
    """The config of train.py's words."""
    with initialize_config_dir(str(settings.CONF), version_base="1.3"):
        return compose("train", overrides=words)


def purpose(name: str) -> str:
    """The first line of a task's file."""
    return (settings.CONF / "task" / f"{name}.yaml").read_text().splitlines()[0].removeprefix("# ")


def cost(config: dict[str, Any], task: Task) -> str:
    """Parameters and tokens of a run, and about how long that takes."""
    layers = "[" + ", ".join(layer["mixer"] for layer in config["stack"]) + "]"
    try:
        with torch.device("meta"):
            stack = train.build_stack(config)
    except ValueError as error:
        return f"Cost: not with {layers} as configured: {error}"
    steps, batch, length = (config[key] for key in ("steps", "batch_size", "length"))
    minutes = steps * batch * length * (PER_TOKEN + PER_CLASS * task.targets.size) / 60
    return (
        f"Cost: {layers} at width {config['d_model']} has {count_parameters(stack):,} parameters and carries {stack.state_size:,} numbers. "
        f"{steps:,} steps of {batch} x {length} tokens take about {max(minutes, 1):.0f} min on two cores."
    )


def shown(cfg: DictConfig, heading: str = "#") -> str:
    """The task of a config as Markdown; a ValueError says what it lacks."""
    config = settings.resolve(cfg)
    name, task = config["task"]["name"], settings.build(config["task"])
    parts = [f"{heading} {name}", purpose(name), *describe.sections(task, config["evaluation"]["lengths"]), cost(config, task)]
    return "\n\n".join(parts)


def catalogue() -> str:
    """All tasks for the page, word problems first; a class is described before the first of its tasks."""
    files = {file.stem: OmegaConf.load(file) for file in (settings.CONF / "task").glob("*.yaml")}
    cfg, parts, described = composed(["evaluation.lengths=[64,256]"]), [], set()
    for name in sorted(files, key=lambda name: (not files[name]._target_.startswith("tasks.word_problem."), files[name]._target_, name)):
        target = get_object(files[name]._target_)
        module = inspect.getmodule(target)
        if module not in described:
            parts.append(f"## {module.__doc__.splitlines()[0].removesuffix('.')}")
        if target not in described:
            parts.append(describe.docstring(target))
        described |= {module, target}
        cfg.task = files[name]
        parts.append(f"### {name}\n\n{purpose(name)}" if name in ELSEWHERE else shown(cfg, "###"))
    return "\n\n".join(parts)


def page() -> str:
    """The page with its generated part made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{catalogue()}\n\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", metavar="task=NAME", help="and settings, such as task.group=A5_x_C2 length=32 mixer=delta")
    parser.add_argument("--docs", action="store_true", help="write the part of docs/tasks.md that this script makes")
    given = parser.parse_args()
    try:
        if given.docs:
            temporary = PAGE.with_suffix(".part")
            temporary.write_text(page())
            os.replace(temporary, PAGE)
        else:
            print(shown(composed(given.words)))
    except (ValueError, HydraException) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
