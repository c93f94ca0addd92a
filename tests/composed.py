"""Configs as the command line composes them, and runs of them small enough for a test."""

from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from mingru.settings import CONF

TINY = ("length=8", "steps=6", "batch_size=4", "d_model=16", "evaluation.every=2", "evaluation.sequences=8", "logger=none")
TINY_EVALUATION = ("evaluation.select_sequences=8", "evaluation.lengths=[8,16]")


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def tiny(outputs: Path, *overrides: str) -> DictConfig:
    return composed(*TINY, *TINY_EVALUATION, f"outputs={outputs}", *overrides)


def without_clock(record: dict[str, Any]) -> dict[str, Any]:
    """What two runs of one cell and seed must agree on."""
    config = {key: value for key, value in record["config"].items() if key != "outputs"}
    return {key: value for key, value in record.items() if key != "seconds"} | {"config": config}
