"""Run folders and W&B runs as train.py leaves them, without training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mingru.report import frame
from mingru.report.runs.record import Run, from_parts
from mingru.sweep.cell import cell_hash, slug

LAYERS = {
    "log": {"mixer": "log"},
    "signed": {"mixer": "signed", "coupled": False},
    "givens": {"mixer": "givens", "block_size": 8, "rounds": 3},
    "delta": {"mixer": "delta", "n_heads": 4, "n_householder": 2, "d_k": 16, "d_v": 16},
    "gru": {"mixer": "gru"},
}
CHANCE = 0.1797


def config(mixer: str = "givens", task: str = "s3_hier", seed: int = 0, **changes: Any) -> dict[str, Any]:
    """A resolved config of the shape that settings.resolve gives."""
    length = changes.get("length", 64)
    layer = LAYERS[mixer] | changes.pop("settings", {})
    return {
        "task": {"_target_": "tasks.word_problem.WordProblem", "name": task, "group": "S3"},
        "mixer": {"name": mixer},
        "extractor": "signed",
        "depth": 1,
        "stack": [LAYERS["signed"], layer],
        "d_model": 64,
        "mlp_expansion": 4,
        "length": length,
        "seed": seed,
        "steps": 1600,
        "batch_size": 128,
        "lr": 0.003,
        "evaluation": {
            "every": 100,
            "select_length": 2 * length,
            "lengths": [length, 4 * length],
            "bar": 0.99,
            "select_sequences": 256,
            "sequences": 512,
        },
        "outputs": "outputs",
        "device": "auto",
        "threads": 1,
        "rerun": None,
        "fail_fast": False,
        "logger": {
            "kind": "wandb",
            "project": "mingru",
            "entity": None,
            "mode": "offline",
            "init_seconds": 10,
            "finish_seconds": 10,
            "retry_seconds": 60,
        },
        **changes,
    }


def started(config: Mapping[str, Any], attempt: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "task": config["task"]["name"],
        "mixer": config["mixer"]["name"],
        "extractor": config["extractor"],
        "layers": config["stack"],
        "length": config["length"],
        "seed": config["seed"],
        "attempt": attempt,
        "threads": 1,
        "steps": config["steps"],
        "cell": cell_hash(dict(config)),
        "code": "0123456789ab",
        "commit": "c0ffee",
        "dirty": False,
        "versions": {"python": "3.11.2", "torch": "2.13.0+cpu"},
        "device": "cpu",
        "config": dict(config),
        **changes,
    }


def outcome(config: Mapping[str, Any], fit: bool, **changes: Any) -> dict[str, Any]:
    """What a finished run measured: 1.0 and .9 where it fits, .5 and .25 where it does not."""
    scores = {str(n): score for n, score in zip(config["evaluation"]["lengths"], (1.0, 0.9) if fit else (0.5, 0.25), strict=True)}
    selected = 0.996 if fit else 0.5
    return {
        "status": "finished",
        "fit": fit,
        "fit_selected": fit,
        "selection": {"step": 1100, "accuracy": selected, "fresh_accuracy": selected},
        "steps_to_fit": 900 if fit else None,
        "validation": [{"step": step, "accuracy": selected, "loss": 0.1} for step in (800, 900, 1000, 1100)],
        "accuracy": scores,
        "sequence_accuracy": scores,
        "position_accuracy": [selected] * 8,
        "evaluated": dict.fromkeys(scores, 512),
        "parameters": 94_694,
        "composer_parameters": 14_624,
        "state_size": 128,
        "seconds": 112.25,
        "chance": dict.fromkeys(scores, CHANCE),
        "constant": dict.fromkeys(scores, 0.1672),
        **changes,
    }


def failure(text: str = "RuntimeError: boom") -> dict[str, Any]:
    return {"status": "failed", "failure": text}


def folder(outputs: Path, record: Mapping[str, Any], suffix: str = "") -> Path:
    config = record["config"]
    return outputs / record["task"] / f"{slug(config)}-{record['cell']}" / f"s{record['seed']}{suffix}"


def write(outputs: Path, record: Mapping[str, Any], ending: Mapping[str, Any] | None = None, suffix: str = "") -> Path:
    """The folder of one run: started.json, and result.json or failure.json unless it was killed (no ending)."""
    place = folder(outputs, record, suffix)
    place.mkdir(parents=True)
    _dump(place / "started.json", {"started_at": "2026-01-01T00:00:00+00:00", **record})
    if ending is not None and ending["status"] == "failed":
        _dump(place / "failure.json", {**record, "error": ending["failure"], "traceback": "...", "failed_at": "..."})
    elif ending is not None:
        _dump(place / "result.json", {**record, **ending})
    return place


def _dump(file: Path, record: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(record, indent=1), encoding="utf-8")


def run(fit: bool | None = True, seed: int = 0, mixer: str = "givens", status: str = "finished", **changes: Any) -> Run:
    """A run in memory. `changes` go to the config; those named as keys of started.json's or result.json's go there."""
    identity = {key: changes.pop(key) for key in ("attempt", "code", "versions", "device", "started_at", "cell") if key in changes}
    measured = {key: changes.pop(key) for key in list(changes) if key in {*outcome(config(), True), "error"}}
    chosen = config(mixer, seed=seed, **changes)
    endings = {
        "finished": lambda: outcome(chosen, bool(fit), **measured),
        "diverged": lambda: outcome(chosen, False, accuracy={}, status="diverged"),
        "failed": failure,
        "missing": dict,
    }
    return from_parts(started(chosen, **identity), endings[status](), f"{mixer}/s{seed}")


def cell_of(fits: int, n: int, mixer: str = "givens", **changes: Any) -> list[Run]:
    """n finished runs, the first of which fit."""
    return [run(seed < fits, seed, mixer, **dict(changes)) for seed in range(n)]


def table(*runs: Run, pool: bool = False):
    return frame.tabulate(list(runs), pool)
