"""What a command line means: one run or a sweep, and every distinct cell of it, composed.

Hydra's BasicSweeper makes the jobs, from `hydra.sweeper.params` and the command line, which wins. Seeds don't change a
cell, so that each cell is composed once, with its first seed. An experiment's YAML may write its sweep as the command
line does, `hydra: {mode: MULTIRUN, sweeper: {params: {seed: 0-35}}}`: the range is spelled out on Hydra's line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, flag_override

from mingru.cli.compose import Composer
from mingru.cli.ranges import SWEEP_KEYS, expand, expand_value, refuse_bad_values
from mingru.cli.refusal import Refusal

# `stack=` sets the layers outright: beside it these would say nothing.
STACK_REPLACES = ("mixer", "extractor")
# The sweeper that knows `stop`.
RESUMING = "resuming"


@dataclass(frozen=True)
class Cell:
    """One composed config without Hydra's own part, and the overrides that make it (the first seed's)."""

    overrides: tuple[str, ...]
    config: DictConfig

    @property
    def label(self) -> str:
        return " ".join(override for override in self.overrides if not override.startswith("seed="))


@dataclass(frozen=True)
class Command:
    """A command line composed: `overrides` is what Hydra reads, `first` the line of the first job alone."""

    multirun: bool
    overrides: tuple[str, ...]
    first: tuple[str, ...]
    cells: tuple[Cell, ...]


def understand(typed: Sequence[str], multirun: bool, composer: Composer, first_only: bool = False) -> Command:
    """Compose the overrides of a command line. Raises Refusal.

    `multirun` tells whether -m was among its flags; with `first_only` a sweep's first cell is composed and no other.
    """
    overrides = [expand(override) for override in typed]
    as_typed = dict(zip(overrides, typed, strict=True))
    parsed = composer.parse(overrides)
    for override in parsed:
        refuse_bad_values(override, as_typed[override.input_line])
    master = composer.load(overrides, RunMode.MULTIRUN)
    if multirun or master.hydra.mode == RunMode.MULTIRUN:
        return _sweep(overrides, master, composer, first_only)
    for override in parsed:
        if override.is_sweep_override():
            raise Refusal(f"{as_typed[override.input_line]}: several values are a sweep; add -m to run it")
    config = composer.load(overrides, RunMode.RUN)
    if OmegaConf.select(config, "stop"):
        raise Refusal(f"stop={config.stop}: compares the cells of a sweep; add -m, and two or more mixers, to run one")
    return Command(False, tuple(overrides), tuple(overrides), (_cell(overrides, config, composer),))


def _sweep(overrides: list[str], master: DictConfig, composer: Composer, first_only: bool) -> Command:
    sweeper = master.hydra.runtime.choices["hydra/sweeper"]
    if OmegaConf.select(master, "stop") and sweeper != RESUMING:
        raise Refusal(f"hydra/sweeper={sweeper}: cannot stop early; wanted {RESUMING}, or no stop={master.stop}")
    hydra_overrides, own = list(master.hydra.overrides.hydra), list(master.hydra.overrides.task)
    params, spelled_out = _params(master, {override.split("=")[0] for override in own}, composer)
    lines = _job_lines(params + own, composer)
    cells = []
    for line in lines[:1] if first_only else lines:
        config = composer.load(hydra_overrides + line, RunMode.RUN)
        if config.hydra.sweeper.params != master.hydra.sweeper.params:
            raise Refusal(f"{' '.join(line)}: this experiment is a sweep of its own; run one such experiment at a time")
        cells.append(_cell(line, config, composer))
    return Command(True, tuple(overrides + spelled_out), tuple(hydra_overrides + lines[0]), tuple(cells))


def _params(master: DictConfig, given: set[str], composer: Composer) -> tuple[list[str], list[str]]:
    """The config's own sweep as overrides, its ranges spelled out, and those of them that Hydra must be told."""
    params, spelled_out = [], []
    for key, value in (master.hydra.sweeper.params or {}).items():
        param = f"{key}={value}"
        if key in SWEEP_KEYS and key not in given:
            came = f"hydra.sweeper.params.{param}"
            param = f"{key}={expand_value(str(value), came)}"
            refuse_bad_values(composer.parse([param])[0], came)
            spelled_out += [param] if param != f"{key}={value}" else []
        params.append(param)
    return params, spelled_out


def _job_lines(overrides: list[str], composer: Composer) -> list[list[str]]:
    """The lines of a sweep's jobs, those that differ in the seed alone collapsed to the first."""
    parsed = composer.parse(overrides)
    for override in parsed:
        if override.is_interval_sweep():
            raise Refusal(f"{override.input_line}: an interval can't be listed; wanted values, a range or a choice")
        if override.is_sweep_override() and next(override.sweep_string_iterator(), None) is None:
            raise Refusal(f"{override.input_line}: names no value")
    collapsed = [_first_seed(override, composer) for override in parsed]
    return BasicSweeper.split_arguments(collapsed, max_batch_size=None)[0]


def _first_seed(override: Override, composer: Composer) -> Override:
    if override.key_or_group != "seed" or not override.is_sweep_override():
        return override
    return composer.parse([f"seed={next(override.sweep_string_iterator())}"])[0]


def _cell(overrides: Sequence[str], config: DictConfig, composer: Composer) -> Cell:
    with flag_override(config, ["struct", "readonly"], False):
        del config["hydra"]
    if OmegaConf.select(config, "stack") is not None:
        for override in composer.parse(overrides):
            if override.key_or_group.split(".")[0] in STACK_REPLACES:
                raise Refusal(f"{override.input_line}: the stack sets the layers outright; leave one of the two out")
    return Cell(tuple(overrides), config)
