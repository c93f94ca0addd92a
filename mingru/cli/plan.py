"""From a command line to what it will do: Hydra's line, the cells to check, the config folders to freeze."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from mingru.cli.cells import Cell, understand
from mingru.cli.compose import Composer
from mingru.cli.frozen import Snapshot, refuse_unwritable, snapshot
from mingru.cli.refusal import Refusal, reason
from mingru.cli.words import Line, read

CONFIG_NAME = "train"


@dataclass(frozen=True)
class Plan:
    """What a command will do. `shows` is for one that only prints; `conf` is the config folder as it was typed."""

    argv: tuple[str, ...] = ()
    shows: bool = False
    conf: Path = Path()
    cells: tuple[Cell, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()


def plan(argv: Sequence[str], conf: Path) -> Plan:
    """Understand a command line without running or writing anything; `conf` is train.py's own. Raises Refusal."""
    line = read(argv)
    folder = conf.parent / (line.args.config_path or conf)
    if not folder.is_dir():
        raise Refusal(f"--config-path {line.args.config_path or conf}: no such folder")
    if line.args.experimental_rerun is not None:
        return Plan((*line.overrides, *line.flags_without()))
    if line.args.shell_completion or line.args.hydra_help:
        return Plan((*line.overrides, *line.flags_without("config_path")), shows=True, conf=folder)
    composer = Composer(str(folder), line.args.config_dir, line.args.config_name or CONFIG_NAME)
    command = understand(line.overrides, line.args.multirun, composer, first_only=line.shows)
    if line.shows:
        argv = (*command.first, *line.flags_without("config_path", "multirun"))
        return Plan(argv, shows=True, conf=folder)
    homes = [_outputs(cell.config, conf.parent) for cell in command.cells]
    if not command.multirun:
        return Plan((*command.overrides, *line.flags_without()), conf=folder, cells=command.cells)
    flags, snapshots = _freeze(line, folder, homes[0])
    return Plan((*command.overrides, *flags), conf=folder, cells=command.cells, snapshots=snapshots)


def _freeze(line: Line, folder: Path, outputs: Path) -> tuple[list[str], tuple[Snapshot, ...]]:
    """The flags of a sweep, with copies in place of the config folders. Folders on hydra.searchpath are not copied."""
    flags = line.flags_without("config_path", "config_dir")
    copied = {"--config-path": folder}
    if line.args.config_dir is not None:
        copied["--config-dir"] = Path(line.args.config_dir)
    snapshots = {flag: snapshot(source, outputs) for flag, source in copied.items()}
    for flag, taken in snapshots.items():
        flags += [flag, str(taken.home)]
    return flags, tuple(snapshots.values())


def _outputs(config: DictConfig, root: Path) -> Path:
    """The outputs folder of a cell; a relative one counts from the project's root, whatever the current folder."""
    try:
        outputs = config.outputs
    except OmegaConfBaseException as error:
        raise Refusal(reason(error)) from error
    if not isinstance(outputs, str) or not outputs:
        raise Refusal(f"outputs={outputs}: wanted a folder, for example outputs=outputs")
    folder = root / Path(outputs).expanduser()
    refuse_unwritable(folder, f"outputs={outputs}")
    return folder
