"""Older attempts of a run that was redone: they stay in W&B, marked, so that no seed counts twice."""

import logging
import re
from pathlib import Path

from mingru.sweep import records
from mingru.tracking import names

log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 15
SET_ASIDE = re.compile(r"s\d+-a\d+")


def is_superseded(directory: Path) -> bool:
    """An attempt that was redone has been set aside as s<seed>-a<attempt>."""
    return SET_ASIDE.fullmatch(directory.name) is not None


def older_attempts(directory: Path) -> list[str]:
    """The W&B ids of the attempts that were set aside for the run in this directory."""
    started = (records.read_json(other / records.STARTED) for other in sorted(directory.parent.glob(f"{directory.name}-a*")))
    return [names.run_id(record) for record in started if record is not None]


def mark(path: str, run_ids: list[str]) -> None:
    """Give these runs of `entity/project` the tag and the summary key `superseded`; those that W&B doesn't have are passed over."""
    import wandb

    api = wandb.Api(timeout=TIMEOUT_SECONDS)
    for run_id in run_ids:
        try:
            run = api.run(f"{path}/{run_id}")
        except (ValueError, wandb.errors.CommError) as error:
            log.debug("%s/%s: not marked (%s)", path, run_id, error)
            continue
        if names.SUPERSEDED not in run.tags:
            run.tags = [*run.tags, names.SUPERSEDED]
            run.summary[names.SUPERSEDED] = 1
            run.update()
