"""Making a batch over the training step that it feeds."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Missing, Ratio
from scripts.benchmarks.remote import PROJECT
from scripts.benchmarks.row import at_most
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import Shapes

TASKS = ("s3", "a5_x_z60")
# The mixer trained by default, and the cheapest one.
MIXERS = ("givens", "log")
REACH = {64: 0.05, 1024: 0.10}
FOLDER = PROJECT / "conf" / "task"


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    return [over_step(task, mixer, length, shapes) for task in TASKS for length in REACH for mixer in MIXERS]


def over_step(task: str, mixer: str, length: int, shapes: Shapes) -> Measure:
    shape = {"task": task, "mixer": mixer, "batch": batch_for(task, length, shapes), "length": shapes.length(length)}
    measure = f"a batch of {task}, T={shape['length']}, B={shape['batch']} / its training step with {mixer}"
    if not (FOLDER / f"{task}.yaml").is_file():
        return Missing(measure, f"conf/task has no {task}.yaml", at_most(REACH[length]))
    return Ratio(measure, Work("batches", "production", shape), Work("batches", "training_step", shape), at_most(REACH[length]))


def batch_for(task: str, length: int, shapes: Shapes) -> int:
    """128, but 16 where a step's logits alone would fill gigabytes: 3,600 classes at T=1024. Both sides grow with the batch."""
    return shapes.batch(16 if task == "a5_x_z60" and length == 1024 else 128)
