"""Count the wrong answers of finished runs on fresh sequences, as they were learned: python scripts/exact.py outputs/s3_hier/*/s*"""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path[0] = str(PROJECT) if __name__ == "__main__" else sys.path[0]
# Before torch is imported: its matrices are small here.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

import train
from mingru.analysis.account import counted
from mingru.analysis.exactness import Count, count
from mingru.report.document import Table, columns
from mingru.report.table import table_text
from mingru.stack import Stack
from mingru.sweep import published, records
from tasks.base import Finite, Task
from tasks.stream import generator

LONG, BATCH = 16_384, 128


def add_measurement(parser: argparse.ArgumentParser, stream: int) -> None:
    """The arguments that say where to count; `stream` is what --stream is unless it is given."""
    told = f"{stream:,}" if stream else "none"
    parser.add_argument("--lengths", type=int, nargs="+", metavar="T", help="where to measure (default: the run's own lengths and 16,384)")
    parser.add_argument("--sequences", type=int, metavar="N", help="sequences per length (default: 2,048, and 256 from 16,384 on)")
    parser.add_argument("--stream", type=int, default=stream, metavar="T", help=f"tokens of one long sequence, or 0 (default: {told})")


def check_measurement(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    numbers = [*(options.lengths or []), *([] if options.sequences is None else [options.sequences])]
    if min(numbers, default=1) < 1 or options.stream < 0:
        parser.error("lengths and sequences are 1 or more, and a stream 0 or more")


def fresh(task: Task, length: int, sequences: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sequences of the split "harden", which nothing was trained or selected on."""
    for index, first in enumerate(range(0, sequences, BATCH)):
        batch = task.sample(generator(task.name, "harden", length, index), BATCH if sequences > 1 else 1, length)
        yield batch.inputs[: sequences - first], batch.targets[: sequences - first]


def wanted(length: int) -> int:
    """Fresh sequences without a wrong token that make a model exact at a length."""
    return 256 if length >= LONG else 2048


def measured(options: argparse.Namespace, stack: Stack, task: Task, evaluation: dict[str, Any]) -> dict[int, Count]:
    """Wrong answers at each length that was asked for, or else at those of the run's `evaluation` and a long one."""
    lengths = options.lengths or sorted({*evaluation["lengths"], evaluation["select_length"], LONG})
    counts = {length: count(stack, fresh(task, length, options.sequences or wanted(length))) for length in lengths}
    if options.stream:
        counts[options.stream] = count(stack, fresh(task, options.stream, 1))
    return counts


def exact_at(counts: dict[int, Count]) -> list[int]:
    """The lengths with no wrong token in as many sequences as that takes."""
    return [length for length, found in counts.items() if found.wrong == 0 and found.sequences >= wanted(length)]


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=f"Count wrong answers as learned, and keep them as {published.EXACTNESS} in the run's folder."
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="folders of finished runs")
    add_measurement(parser, stream=0)
    options = parser.parse_args(argv)
    check_measurement(parser, options)
    return options


def measure(options: argparse.Namespace, directory: Path) -> str:
    """Count, keep what was found, and return it as a table. ValueError, one line, for a run that has no accuracy or no weights."""
    stack, cfg = train.load_run(directory)
    task = train.resolve(cfg)[1]
    if task.metric.name != "accuracy" or task.head != "per_position" or getattr(task, "timed", False) or isinstance(task, Finite):
        raise ValueError(f"{directory}: {task.name} does not stream a class to answer at each token, which is what is counted here")
    counts = measured(options, stack.eval(), task, cfg.evaluation)
    found = {"measured": {str(length): counted(each) for length, each in counts.items()}, "exact_at": exact_at(counts)}
    records.write_json(directory / published.EXACTNESS, found)
    rows = [[f"{n:,}", f"{c.sequences:,}", f"{c.accuracy:.6g}", f"{c.wrong:,}", f"{c.wrong_sequences:,}"] for n, c in counts.items()]
    headers = columns(">length", ">sequences", ">accuracy", ">wrong tokens", ">wrong sequences")
    return table_text(Table("lengths", "", headers[0], rows, headers[1]))


def tell_each(script: str, runs: Sequence[Path], tell: Callable[[Path], str]) -> int:
    """Print what `tell` says of each run. One of which it cannot say anything is one line on stderr, and makes the exit code 1.

    The lock that lies beside a run, s0.lock, is passed over: a glob such as s* gives both.
    """
    torch.set_num_threads(1)
    failed = False
    for directory in (run for run in runs if run.suffix != ".lock"):
        try:
            print(f"{directory}\n{tell(directory)}\n", flush=True)
        except (ValueError, OSError) as error:
            print(f"{script}: {str(error).splitlines()[0]}", file=sys.stderr)
            failed = True
    return int(failed)


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    return tell_each("exact.py", options.runs, functools.partial(measure, options))


if __name__ == "__main__":
    sys.exit(main())
