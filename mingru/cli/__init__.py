"""The command line before Hydra sees it: any word order, `seed=0-35`, bad lines refused at once, frozen configs.

`install()` comes before the slow imports of train.py and leaves in sys.argv a line that Hydra understands; `check()` comes
just before Hydra's main. A refused line is one line on stderr and exit code 2, and leaves nothing on disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from mingru.cli.cells import Cell
from mingru.cli.compose import VERSION_BASE
from mingru.cli.plan import CONFIG_NAME, Plan, plan
from mingru.cli.refusal import Refusal, leave, reason
from mingru.cli.words import completion_line

_plan = Plan()


def install(argv: Sequence[str] | None = None, conf: Path | None = None) -> None:
    """Rewrite sys.argv for Hydra, or refuse the line. `conf` is the folder beside train.py unless given.

    A command that only prints (--help, --info, --cfg, completion) is answered here, without train.py's imports.
    """
    global _plan
    conf = conf or Path(sys.argv[0]).parent.resolve() / "conf"
    try:
        _plan = plan(sys.argv[1:] if argv is None else argv, conf)
    except Refusal as refusal:
        leave(refusal)
    sys.argv[1:] = _plan.argv
    if _plan.shows:
        _show(_plan.conf)


def check(check_one: Callable[[DictConfig, Path], None]) -> None:
    """Call `check_one(config, conf)` for each distinct cell: its ValueError refuses the line before anything runs.

    Then, if the line is a sweep, the frozen copy of the configs is written.
    """
    try:
        for cell in _plan.cells:
            _check_cell(cell, check_one)
        for copied in _plan.snapshots:
            copied.write()
    except Refusal as refusal:
        leave(refusal)


def _check_cell(cell: Cell, check_one: Callable[[DictConfig, Path], None]) -> None:
    try:
        check_one(cell.config, _plan.conf)
    except (ValueError, HydraException, OmegaConfBaseException) as error:
        place = f"{cell.label}: " if _plan.snapshots and cell.label else ""
        raise Refusal(f"{place}{reason(error)}") from error


def _show(conf: Path) -> NoReturn:
    def train(_: DictConfig) -> None:
        raise AssertionError("a command that prints runs no job")

    # Hydra names the job after the module of the function.
    train.__module__ = CONFIG_NAME
    if "COMP_LINE" in os.environ:
        line = completion_line(os.environ["COMP_LINE"], sys.argv[0])
        if line is None:
            raise SystemExit(0)
        os.environ["COMP_LINE"] = line
    hydra.main(version_base=VERSION_BASE, config_path=str(conf), config_name=CONFIG_NAME)(train)()
    raise SystemExit(0)
