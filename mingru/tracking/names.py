"""What a run is called in W&B, and what W&B is told about it, live or later."""

from typing import Any

from mingru.sweep.cell import slug

SUPERSEDED = "superseded"
# W&B refuses longer ones.
LONGEST_TAG = 64


def run_name(config: dict[str, Any]) -> str:
    return f"{config['task']['name']}-{slug(config)}-L{config['length']}"


def run_id(identity: dict[str, Any]) -> str:
    """The same for every continuation of one attempt, another for each attempt.

    The code is part of it: the same seed trained by other code in a fresh outputs folder is no continuation.
    """
    return f"{identity['task']}-{identity['cell']}-s{identity['seed']}-a{identity['attempt']}-{identity['code'][:8]}"


def options(config: dict[str, Any], identity: dict[str, Any]) -> dict[str, Any]:
    """The arguments of wandb.init that say which run this is."""
    name = run_name(config)
    return {
        "project": config["logger"]["project"],
        "entity": config["logger"]["entity"],
        "id": run_id(identity),
        "name": f"{name}-s{config['seed']:02d}",
        "group": f"{name}-{identity['cell']}",
        "job_type": "train",
        "tags": [tag[:LONGEST_TAG] for tag in (identity["task"], identity["mixer"])],
        "config": identity,
        # A continuation may find other versions installed.
        "allow_val_change": True,
    }


def settings(init_seconds: float, finish_seconds: float) -> Any:
    """Quiet, and without what the started record holds already: packages, commit, machine."""
    import wandb

    return wandb.Settings(
        init_timeout=init_seconds,
        finish_timeout=finish_seconds,
        finish_timeout_raises=True,
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
        # A killed run keeps what it logged until a second before.
        x_transaction_log_flush_interval=1,
    )


def summary(result: dict[str, Any], identity: dict[str, Any]) -> dict[str, Any]:
    """What result.json holds beyond the identity; `fit` as 0 or 1, so that a group's mean is its fit rate."""
    outcome = {key: value for key, value in result.items() if key not in identity}
    return {key: int(value) if isinstance(value, bool) else value for key, value in outcome.items()}


def failed(error: str) -> dict[str, Any]:
    return {"status": "failed", "failure": error}
