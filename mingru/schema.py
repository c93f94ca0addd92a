"""The configuration's types, and what is said of a value that has none of them."""

import difflib
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import BaseModel, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, ValidationError


class Strict(BaseModel, extra="forbid", strict=True):
    """No coercion, no unknown keys."""


class Evaluation(Strict):
    every: PositiveInt
    select_last: bool = False
    select_length: PositiveInt | None
    lengths: list[PositiveInt] | None
    every_length: PositiveInt | None = None
    bar: float | None
    select_sequences: PositiveInt
    sequences: PositiveInt


class NoLogger(Strict):
    kind: Literal["none"]


class Wandb(Strict):
    kind: Literal["wandb"]
    project: str
    entity: str | None
    mode: Literal["auto", "online", "offline"]
    init_seconds: PositiveFloat
    finish_seconds: PositiveFloat
    retry_seconds: NonNegativeFloat


LOGGERS = {"none": NoLogger, "wandb": Wandb}


class Config(Strict):
    """The top level of a config. Tasks, mixers, curricula and schedules are checked against the signature of what they name.

    `files` is filled in by mingru/sweep/request.py. What has a default here is absent from older records.
    """

    task: dict[str, Any]
    mixer: dict[str, Any]
    extractor: Any
    depth: PositiveInt
    stack: list[Any] | None
    d_model: PositiveInt
    mlp_expansion: NonNegativeInt
    length: PositiveInt
    seed: int = Field(ge=0, lt=2**32)
    steps: PositiveInt
    batch_size: PositiveInt
    lr: PositiveFloat
    train_sequences: PositiveInt | None = None
    curriculum: dict[str, Any] | None = None
    schedule: dict[str, Any] | None = None
    clip: PositiveFloat | None = None
    compile: bool
    time: Literal["feature", "decay", "both"] | None = None
    evaluation: dict[str, Any]
    outputs: str
    published: str | None = None
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt
    rerun: Literal["failed", "stale", "all"] | None
    fail_fast: bool
    stop: Literal["significant"] | None = None
    logger: dict[str, Any]
    files: dict[str, str] | None = None


def nearest(name: str, names: Iterable[str]) -> str:
    """`(did you mean x?)` where a near name exists, and the valid names."""
    names = sorted(names)
    near = difflib.get_close_matches(name, names, n=1)
    return (f" (did you mean {near[0]}?)" if near else "") + f"; valid: {', '.join(names)}"


def explain(error: ValidationError, prefix: tuple[str, ...], names: Iterable[str]) -> ValueError:
    """The first of pydantic's complaints as one line; `names` are the valid keys at its level."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in (*prefix, *first["loc"]))
    if first["type"] == "extra_forbidden":
        return ValueError(f"{key}: no such key{nearest(str(first['loc'][-1]), names)}")
    if first["type"] == "missing":
        return ValueError(f"{key}: is missing")
    wanted = first["msg"].removeprefix("Input ").replace("should be", "must be")
    return ValueError(f"{key}={first['input']}: {wanted}")


def check_types(config: dict[str, Any]) -> None:
    """ValueError for a key of the top level, of `evaluation` or of `logger` that is unknown or has a value of the wrong type."""
    validate(Config, config)
    validate(Evaluation, config["evaluation"], "evaluation")
    kind = config["logger"].get("kind")
    if kind not in LOGGERS:
        raise ValueError(f"logger.kind={kind}: no such logger{nearest(str(kind), LOGGERS)}")
    validate(LOGGERS[kind], config["logger"], "logger")


def validate(model: type[Strict], values: dict[str, Any], *prefix: str) -> None:
    try:
        model.model_validate(values)
    except ValidationError as error:
        raise explain(error, prefix, model.model_fields) from None
