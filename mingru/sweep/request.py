"""The runs that a sweep asks for: each cell is composed once, and its seeds share it."""

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf, flag_override

from mingru import settings
from mingru.gaps import resolve_time
from mingru.sweep import records
from mingru.sweep.cell import slug
from mingru.sweep.files import digests

SEED = "seed="


def conf_folder(hydra: DictConfig) -> Path:
    """The folder of YAML files that Hydra's own config says it was composed from: in a sweep, the copy made when it began."""
    return Path(next(source.path for source in hydra.runtime.config_sources if source.provider == "main"))


def resolve(cfg: DictConfig | dict[str, Any], conf: Path) -> tuple[dict[str, Any], Any]:
    """The config with nothing left open, and its task. ValueError for a length that the task cannot have."""
    config = settings.resolve(cfg, conf)
    task, evaluation = settings.build(config["task"]), config["evaluation"]
    config = resolve_time(config, getattr(task, "timed", False))
    evaluation["bar"] = task.metric.bar if evaluation["bar"] is None else evaluation["bar"]
    task.check_length(config["length"])
    keep_possible(evaluation, cfg["evaluation"], config["length"], task)
    for length in (evaluation["select_length"], *evaluation["lengths"]):
        task.check_length(length)
    config.pop("files", None)
    named = digests(config["task"])
    return config | ({"files": named} if named else {}), task


def keep_possible(evaluation: dict[str, Any], given: Mapping[str, Any], length: int, task: Any) -> None:
    """Of the lengths that nobody gave, those that the task has; it has `length`."""

    def possible(candidate: int) -> bool:
        try:
            task.check_length(candidate)
        except ValueError:
            return False
        return True

    if given["select_length"] is None and not possible(evaluation["select_length"]):
        evaluation["select_length"] = length
    if given["lengths"] is None:
        evaluation["lengths"] = list(filter(possible, evaluation["lengths"]))


@dataclass(frozen=True, eq=False)
class Cell:
    """A composed config, Hydra's own part included, and the same resolved; both with one seed of many."""

    composed: DictConfig
    config: dict[str, Any]

    @functools.cached_property
    def name(self) -> str:
        return f"{self.config['task']['name']} {slug(self.config)} L{self.config['length']}"


@dataclass(frozen=True, eq=False)
class Request:
    """One run of a sweep. Two command lines that mean the same run have the same directory."""

    overrides: tuple[str, ...]
    cell: Cell
    seed: int

    @functools.cached_property
    def directory(self) -> Path:
        return records.run_directory(self.cell.config | {"seed": self.seed})

    @property
    def name(self) -> str:
        return f"{self.cell.name} seed {self.seed}"

    def job(self, number: int) -> DictConfig:
        """The config of Hydra's job, as if it had been composed for this seed."""
        config = copy.deepcopy(self.cell.composed)
        with flag_override(config, ["struct", "readonly"], False):
            config.seed = self.seed
            config.hydra.overrides.task = list(self.overrides)
            config.hydra.job.id = config.hydra.job.num = number
        return config


class Requests:
    """Turns the overrides of a job into a Request."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self._loader, self._master = loader, master
        self._cells: dict[tuple[str, ...], Cell] = {}

    def __call__(self, overrides: Sequence[str]) -> Request:
        others = tuple(override for override in overrides if not override.startswith(SEED))
        if others not in self._cells:
            self._cells[others] = self._compose(overrides)
        cell = self._cells[others]
        given = [override for override in overrides if override.startswith(SEED)]
        seed = int(given[-1].removeprefix(SEED)) if given else cell.config["seed"]
        return Request(tuple(overrides), cell, seed)

    def _compose(self, overrides: Sequence[str]) -> Cell:
        composed = self._loader.load_sweep_config(self._master, list(overrides))
        plain = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
        return Cell(composed, resolve(plain, conf_folder(composed.hydra))[0])
