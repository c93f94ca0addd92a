"""The runs of the study of exactness, by cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

MIXERS = Path(__file__).resolve().parents[2] / "conf" / "mixer"
# In the page's order. The faster one is what the search for the other composers ended with, at a higher rate than the others' RATE.
RECIPES = FOUND, FASTER, REFERENCE, EARLIER = "found", "faster", "reference", "earlier"
RATE = 0.003
# The cell that the others are compared with, and the layers that the recipe that was found puts below a composer.
HEADLINE = {"s3_hier": "selection", "s5": "reflection"}
BELOW = {"s3_hier": "selection 2 → log → ", "s5": ""}
# The composers of S5, and of the last stage's smaller groups. Planar rotations have a faithful representation of S3 alone.
FLAT = ("reflection", "selection", "givens", "delta_64")
OTHERS = ("rotation_free", "selection_row", "selection_bijective", "delta", "gru", "signed", "log")
# A state that is a matrix, or that no affine map moves: hardening does not read these.
UNREAD = ("delta_64", "delta", "gru")
SMALLER = {"a5": (*FLAT, "selection_row", "delta", "gru"), "s4": FLAT, "a4": FLAT, "s3": (*FLAT, "rotation", *OTHERS)}
# d_model of every model of the study; the search also tried narrower ones, which are no search for a recipe.
WIDTH = 64
LENGTHS = (64, 256, 512, 1024)
Record = dict[str, Any]


def recipe(record: Record) -> str:
    """The reference's has a constant rate, and the one that the search ended with keeps the last weights. Others were run before that."""
    config = record["config"]
    if config.get("schedule") is None:
        return REFERENCE
    if not config["evaluation"].get("select_last") or layers(record) != BELOW.get(record["task"], "") + record["mixer"]:
        return EARLIER
    return FASTER if config["lr"] > RATE else FOUND


def cells(records: Iterable[Record], *recipes: str) -> dict[tuple[str, str, str], list[Record]]:
    """The runs by task, stack and recipe, each in the order of seeds; hardened ones are none."""
    found = defaultdict(list)
    for record in sorted((record for record in records if "hardened" not in record), key=lambda record: record["seed"]):
        found[record["task"], layers(record), recipe(record)].append(record)
    return {key: runs for key, runs in found.items() if not recipes or key[2] in recipes}


def headline(study: list[Record], task: str) -> list[Record]:
    return cells(study).get((task, BELOW[task] + HEADLINE[task], FOUND), [])


def layers(record: Record) -> str:
    """The stack, bottom first, with what tells the layers below the composer apart."""
    *below, composer = record["layers"]
    return " → ".join([*(" ".join([layer["mixer"], *told_apart(layer)]) for layer in below), composer["mixer"]])


def told_apart(layer: dict[str, Any]) -> list[str]:
    """A selection's block size, and that a `signed` is coupled or learns its start."""
    if layer["mixer"] == "selection":
        return [str(layer["block_size"])]
    return [word for key, word in (("coupled", "coupled"), ("learnable_h0", "h0")) if layer["mixer"] == "signed" and layer.get(key)]


def search_recipe(record: Record) -> str:
    """How a run of the search was trained, and what its composer has that its YAML does not."""
    config = record["config"]
    schedule, curriculum = config["schedule"], config["curriculum"]
    return ", ".join(
        [
            *settings(record["layers"][-1]),
            *([f"rate {config['lr']:g}"] if config["lr"] != RATE else []),
            "constant" if schedule is None else f"falls over {schedule['share']:g}" if "share" in schedule else "cosine",
            *(["doubling" if "bar" in curriculum else "linear"] if curriculum else []),
            *([f"at {curriculum['bar']:g}"] if curriculum and curriculum.get("bar", 0.95) != 0.95 else []),
            *([f"{curriculum['tokens']:,} tokens a step"] if curriculum and curriculum.get("tokens", 8192) != 8192 else []),
            *([f"clip {config['clip']:g}"] if config["clip"] else []),
            *([f"width {config['d_model']}"] if config["d_model"] != WIDTH else []),
            *([f"T = {config['length']}"] if config["length"] != 64 else []),
            *([f"{config['steps']} steps"] if config["steps"] != 1600 else []),
            "last weights" if config["evaluation"].get("select_last") else "best weights",
        ]
    )


def settings(layer: dict[str, Any]) -> list[str]:
    usual = OmegaConf.load(MIXERS / f"{layer['mixer']}.yaml")
    return [f"{key}={value}" for key, value in layer.items() if key != "mixer" and value != usual.get(key)]


def hardened_from(study: list[Record], runs: list[Record]) -> list[Record]:
    """The hardened models that were made from these runs."""
    made_from = {(run["cell"], run["seed"]) for run in runs}
    return [run for run in study if "hardened" in run and (run["hardened"]["cell"], run["seed"]) in made_from]


def certificates(study: list[Record], runs: list[Record]) -> dict[int, Record]:
    """By seed, the certificates of those of these runs that hardening made exact for their task."""
    found = {record["seed"]: record["certificate"] for record in hardened_from(study, runs)}
    return {seed: certificate for seed, certificate in found.items() if certificate["equals_task"]}


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
