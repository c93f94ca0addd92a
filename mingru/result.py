"""From a trained tagger's scores to the keys of result.json (their meaning is the project's public contract)."""

from typing import Any

from torch import nn

from mingru.metrics import Scores

# A model still tracks at a length where more than this share of its answers is right.
TRACKS = 0.9


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def reaches(value: float | None, bar: float, higher_is_better: bool) -> bool:
    return value is not None and (value >= bar if higher_is_better else value <= bar)


def first_fit(history: list[dict[str, Any]], score: str, bar: float, higher_is_better: bool) -> int | None:
    """Step of the first validation at or above the bar."""
    return next((entry["step"] for entry in history if reaches(entry[score], bar, higher_is_better)), None)


def stack_facts(stack: nn.Module) -> dict[str, int]:
    mixers = [block.mixer for block in stack.blocks]
    return {
        "parameters": count_parameters(stack),
        "composer_parameters": count_parameters(mixers[-1]),
        "state_size": sum(mixer.state_size for mixer in mixers),
    }


def fit_record(tagger: Any, best: dict[str, Any] | None, fresh: Scores | None, bar: float, higher: bool) -> dict[str, Any]:
    """`fit` by the selected weights re-measured once on fresh sequences, `fit_selected` by the validation that selected them."""
    score = tagger.score
    value = None if fresh is None else (fresh.mean_loss if score == "error" else fresh.accuracy)
    selected = None if best is None else best[score]
    return {
        "status": "diverged" if tagger.diverged else "finished",
        "fit": not tagger.diverged and reaches(value, bar, higher),
        "fit_selected": not tagger.diverged and reaches(selected, bar, higher),
        "selection": {"step": None if best is None else best["step"], score: selected, f"fresh_{score}": value},
        "steps_to_fit": first_fit(tagger.history, score, bar, higher),
        "validation": tagger.history,
    }


def length_record(tagger: Any, lengths: list[int], scores: list[Scores] | None) -> dict[str, Any]:
    """Scores by absolute test length; null where the run diverged."""
    by_length = dict(zip(lengths, scores, strict=True)) if scores else dict.fromkeys(lengths)
    if tagger.score == "error":
        record = {"error": {str(n): s and s.mean_loss for n, s in by_length.items()}}
    else:
        record = {
            "accuracy": {str(n): s and s.accuracy for n, s in by_length.items()},
            "sequence_accuracy": {str(n): s and s.sequence_accuracy for n, s in by_length.items()},
            "position_accuracy": scores[-1].position_accuracy() if scores else [],
        }
    return record | {"evaluated": {str(n): s.sequences if s else 0 for n, s in by_length.items()}}


def every_length_record(tagger: Any, passes: list[tuple[int, list[int]]], scores: list[Scores] | None) -> dict[str, Any]:
    """Scores by every length: `passes` says for each of `scores` which lengths it tells of. Null where the run diverged."""
    if not passes:
        return {}
    told = [(n, s) for (_, lengths), s in zip(passes, scores or [None] * len(passes), strict=True) for n in lengths]
    if tagger.score == "error":
        return {"error_by_length": {str(n): s and s.mean_loss for n, s in told}}
    return {
        "accuracy_by_length": {str(n): s and s.accuracy_to(n) for n, s in told},
        "last_accuracy_by_length": {str(n): s and s.accuracy_at(n) for n, s in told},
    }


def longest_above(record: dict[str, Any]) -> dict[str, int | None]:
    """The longest length that was measured at which accuracy is above TRACKS; null where there is none."""
    if "accuracy" not in record:
        return {}
    measured = record["accuracy"].items() | record.get("accuracy_by_length", {}).items()
    return {"longest_above": max((int(n) for n, value in measured if value is not None and value > TRACKS), default=None)}
