"""One W&B run per (cell, seed, attempt), closed whatever happens to it.

W&B sees what the run directory holds: config is the started record, summary the result. Training never depends on the network: without
a key, or when the server does not answer in time, the run is recorded offline.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from requests.utils import get_netrc_auth

from mingru.sweep.cell import slug

log = logging.getLogger(__name__)
INIT_SECONDS, FINISH_SECONDS = 30, 60


def run_name(config: dict[str, Any]) -> str:
    return f"{config['task']['name']}-{slug(config)}-L{config['length']}"


def run_id(identity: dict[str, Any]) -> str:
    """The same for every continuation of one attempt, another for each attempt."""
    return f"{identity['task']}-{identity['cell']}-s{identity['seed']}-a{identity['attempt']}"


def wandb_mode(mode: str) -> str:
    """`auto` follows WANDB_MODE where it is set, and else is online exactly when there is a key."""
    import wandb

    if mode != "auto":
        return mode
    if os.environ.get("WANDB_MODE"):
        return os.environ["WANDB_MODE"]
    has_key = os.environ.get("WANDB_API_KEY") or get_netrc_auth(wandb.setup().settings.base_url)
    return "online" if has_key else "offline"


def start(config: dict[str, Any], identity: dict[str, Any], directory: Path) -> Any:
    import wandb

    wandb.finish()
    logger, name = config["logger"], run_name(config)
    options = {
        "project": logger["project"],
        "entity": logger["entity"],
        "id": run_id(identity),
        "name": f"{name}-s{config['seed']:02d}",
        "group": f"{name}-{identity['cell']}",
        "job_type": "train",
        "tags": [identity["task"], identity["mixer"]],
        "config": identity,
        "dir": directory,
        "resume": "allow",
        "settings": wandb.Settings(
            init_timeout=INIT_SECONDS, finish_timeout=FINISH_SECONDS, silent=True, console="off", x_disable_stats=True
        ),
    }
    mode = wandb_mode(logger["mode"])
    if mode == "offline":
        # An offline run cannot ask the server what it has, so it cannot resume.
        options["resume"] = None
    try:
        return wandb.init(mode=mode, **options)
    except wandb.errors.CommError as error:
        log.warning("W&B does not answer (%s): this run is recorded offline", str(error).splitlines()[0])
        return wandb.init(mode="offline", **{**options, "resume": None})


@contextmanager
def track(config: dict[str, Any], identity: dict[str, Any], directory: Path) -> Iterator[Any]:
    """The open W&B run, or None with `logger=none`. A run that raises is closed as failed and raises on."""
    if config["logger"]["kind"] == "none":
        yield None
        return
    run = start(config, identity, directory)
    try:
        yield run
    except BaseException as error:
        run.summary.update({"status": "failed", "failure": f"{type(error).__name__}: {error}"})
        run.finish(exit_code=1)
        raise
    run.finish(exit_code=0)


def summarise(run: Any, result: dict[str, Any], identity: dict[str, Any]) -> None:
    """Put into W&B's summary what result.json holds beyond the identity; `fit` as 0 or 1, so that a group's mean is its fit rate."""
    if run is None:
        return
    summary = {key: value for key, value in result.items() if key not in identity}
    run.summary.update({key: int(value) if isinstance(value, bool) else value for key, value in summary.items()})
