"""What a run costs beside its training loop: the trainer per step, the sweep per run, and what a second core gives."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal

from scripts.benchmarks.measures import Difference, Measure
from scripts.benchmarks.row import Reach, Row, at_least, at_most, below
from scripts.benchmarks.session import Session, Work
from scripts.benchmarks.suites.shapes import Shapes
from scripts.benchmarks.sweeps import Sweep, Took, swept

# A step so short that what is added to it can be seen.
TINY = {"task": "s3", "mixer": "signed", "batch": 8, "length": 8}
# Runs of 20 steps; as few sequences as can be are evaluated, since evaluation is no overhead.
RUNS, STEPS = 36, 20
# Steps that make a run long beside what surrounds it, and still let seven pairs end within minutes.
LONG_STEPS = 60
LEAST = ("evaluation.sequences=1", "evaluation.select_sequences=1", "evaluation.lengths=[64]", "evaluation.select_length=64")


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    bare, fit = (Work(*where, TINY, threads=1) for where in (("batches", "bare_loop"), ("fits", "fit")))
    runs, steps = shapes.count(RUNS), shapes.count(STEPS)
    cell = Sweep(runs, steps, ("task=s3_hier", "mixer=givens", *LEAST))
    four = Sweep(4, shapes.count(LONG_STEPS), ("task=s3_hier", "mixer=givens", *LEAST))
    return [
        Difference("a training step under Lightning - the same in a bare loop", fit, bare, below(1.0)),
        PerRun(f"a run of {steps} steps in a reused worker, W&B offline - its loop", cell, "difference", at_most(0.7)),
        PerRun(f"a sweep of {runs} runs of {steps} steps with one worker, from its start to its table / the runs' loops", cell, "ratio"),
        RunsPerHour("runs per hour: two workers of one thread / one process of two", four, at_least(1.7)),
    ]


@dataclass(frozen=True)
class PerRun:
    """One sweep with one worker: per run, what it took beyond `steps` steps of a bare loop; or the whole command over all loops."""

    measure: str
    sweep: Sweep
    kind: Literal["difference", "ratio"]
    reach: Reach | None = None

    def row(self, session: Session) -> Row:
        # Before the sweep runs, since nothing may run beside it.
        step = step_seconds(session)
        took = once(self.sweep)
        loop = self.sweep.steps * step
        if self.kind == "ratio":
            return Row(self.measure, [took.command / (self.sweep.runs * loop)], "", (took.command, self.sweep.runs * loop), 1, self.reach)
        values = [seconds - loop for seconds in took.between_results()]
        return Row(self.measure, values, "s", (sum(took.between_results()) / len(values), loop), 1, self.reach)


@functools.cache
def once(sweep: Sweep) -> Took:
    """The same sweep for both rows that look at it."""
    return swept(sweep, workers=1, threads=1)


def step_seconds(session: Session) -> float:
    """Of the default stack in a bare loop, on one thread."""
    shape = {"task": "s3_hier", "mixer": "givens", "batch": 128, "length": 64}
    side = session.side(Work("batches", "bare_loop", shape, threads=1))
    iterations = 3 if session.options.quick else 20
    seconds = side.seconds(iterations, 3) / iterations
    session.drop()
    return seconds


@dataclass(frozen=True)
class RunsPerHour:
    """The same sweep with one two-thread worker and with two single-thread workers: first start to last result, pair by pair."""

    measure: str
    sweep: Sweep
    reach: Reach

    def row(self, session: Session) -> Row:
        session.drop()
        values, seconds = [], (0.0, 0.0)
        for _ in range(session.options.pairs):
            one, two = swept(self.sweep, workers=1, threads=2), swept(self.sweep, workers=2, threads=1)
            seconds = (one.span, two.span)
            values.append(one.span / two.span)
            session.done()
        return Row(self.measure, values, "", seconds, None, self.reach, "times of the last pair")
