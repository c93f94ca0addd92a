"""A hardened run on disk: it loads like any other, and its certificate lies beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mingru.analysis.exactness import Count
from mingru.callbacks import save_weights
from mingru.mixers.hardened import Hardened, HardenedExtractor
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
    """The resolved config of a run with the layers of its hardened stack, from which the stack is built when the run is loaded."""
    *below, layer = [settings_of(block.mixer) for block in stack.blocks]
    mixer = {"name" if key == "mixer" else key: value for key, value in layer.items()}
    return {**config, "stack": [*below, layer], "mixer": mixer} | ({"extractor": below[0]["mixer"], "depth": 1} if below else {})


def settings_of(mixer: Hardened | HardenedExtractor) -> dict[str, Any]:
    size = {"period": mixer.state_size} if isinstance(mixer, HardenedExtractor) else {"block_size": mixer.state_shape[1]}
    return {
        "mixer": mixer.name,
        "_target_": f"{type(mixer).__module__}.{type(mixer).__qualname__}",
        "n_tokens": len(mixer.inputs),
        **size,
    }


def record_of(source: dict[str, Any], stack: Stack, counts: dict[int, Count]) -> dict[str, Any]:
    """result.json of the hardened run: what was measured of it, and under `hardened` which run it was made from.

    Its cell is named after that run's, since hardened runs of different mixers have the same config.
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
    identity = records.identity(config, source["attempt"], source["device"]) | {"cell": f"{source['cell']}-{HARDENED}"}
    return {**kept, **identity, **measured, **stack_facts(stack), HARDENED: made_from}


def write(directory: Path, stack: Stack, record: dict[str, Any], certificate: dict[str, Any]) -> None:
    """The three files, each whole; the record last, so that a folder with a record has the others."""
    directory.mkdir(parents=True, exist_ok=True)
    save_weights(stack.state_dict(), directory / WEIGHTS)
    records.write_json(directory / CERTIFICATE, certificate)
    records.write_json(directory / records.RESULT, record)
