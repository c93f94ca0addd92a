"""A hardened run on disk: it loads like any other, and its certificate lies beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mingru.analysis.exactness import Count
from mingru.callbacks import save_weights
from mingru.report.runs.local import HARDENED
from mingru.result import stack_facts
from mingru.stack import Stack
from mingru.sweep import records
from mingru.training import WEIGHTS

CERTIFICATE = "certificate.json"


def beside(directory: Path) -> Path:
    """`<run>-hardened`, where the hardened form of a run is kept."""
    return directory.with_name(f"{directory.resolve().name}-{HARDENED}")


def config_of(config: dict[str, Any], stack: Stack) -> dict[str, Any]:
    """The resolved config of a run with the layer of its hardened stack, from which the stack is built when the run is loaded."""
    mixer = stack.blocks[0].mixer
    target = f"{type(mixer).__module__}.{type(mixer).__qualname__}"
    settings = {"_target_": target, "n_tokens": len(mixer.inputs), "block_size": mixer.state_shape[1]}
    return {**config, "stack": [{"mixer": mixer.name, **settings}], "mixer": {"name": mixer.name, **settings}}


def record_of(source: dict[str, Any], stack: Stack, counts: dict[int, Count]) -> dict[str, Any]:
    """result.json of the hardened run: what was measured of it, and under `hardened` which run it was made from.

    How the run was trained (selection, validation, steps_to_fit, seconds) stays as it was.
    """
    config = config_of(source["config"], stack)
    evaluation = config["evaluation"]
    selected = counts.get(evaluation["select_length"])
    made_from = {key: source[key] for key in ("mixer", "cell", "seed", "attempt", "fit", "accuracy")}
    measured = {
        "accuracy": {str(length): count.accuracy for length, count in counts.items()},
        "sequence_accuracy": {str(length): count.sequence_accuracy for length, count in counts.items()},
        "evaluated": {str(length): count.sequences for length, count in counts.items()},
        "position_accuracy": [],
        "fit": source["fit"] if selected is None else selected.accuracy >= evaluation["bar"],
    }
    kept = {key: value for key, value in source.items() if not key.endswith("_by_length") and key != "longest_above"}
    identity = records.identity(config, source["attempt"], source["device"])
    return {**kept, **identity, **measured, **stack_facts(stack), HARDENED: made_from}


def write(directory: Path, stack: Stack, record: dict[str, Any], certificate: dict[str, Any]) -> None:
    """The three files, each whole; the record last, so that a folder with a record has the others."""
    directory.mkdir(parents=True, exist_ok=True)
    save_weights(stack.state_dict(), directory / WEIGHTS)
    records.write_json(directory / CERTIFICATE, certificate)
    records.write_json(directory / records.RESULT, record)
