"""Make a trained model of a group exact, with a certificate: python scripts/harden.py outputs/s5/reflection-0123abcd/s0"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path[0] = str(PROJECT) if __name__ == "__main__" else sys.path[0]
# Before torch is imported: its matrices are small here.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import Tensor

import train
from mingru.analysis import account, hardened_run
from mingru.analysis.answers import equals_task, read_answers
from mingru.analysis.carriers import harden_moves
from mingru.analysis.hardening import Hardening, harden, hardened_stack
from mingru.analysis.held import hold
from mingru.analysis.layered import Layered, harden_layered
from mingru.analysis.maps import check_flat, read_flat
from mingru.analysis.rest import safe_radius
from mingru.analysis.table import Reading, read_table
from mingru.stack import Stack
from mingru.sweep import records
from scripts.exact import add_measurement, check_measurement, exact_at, measured
from tasks.algebra.cayley import LARGEST_TABLE
from tasks.algebra.transitions import Group
from tasks.base import Batch, Task
from tasks.word_problem import WordProblem


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Read the group off a trained model, and make the model exact.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="the folder of a finished run")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the hardened run (default: RUN_DIR-hardened)")
    parser.add_argument("--table", choices=["weights", "task"], default="weights", help="whose table (default: the weights')")
    add_measurement(parser, stream=1_000_000)
    options = parser.parse_args(argv)
    check_measurement(parser, options)
    return options


def group_table(task: Task) -> Tensor:
    """The task's multiplication table; ValueError unless its tokens are all elements of a group."""
    if task.metric.name != "accuracy":
        raise ValueError(f"{task.name}: a regression task has no group; hardening reads models of a word problem, such as task=s3")
    group = task.group if isinstance(task, WordProblem) and task.levels == 0 else None
    if not isinstance(group, Group) or group.order > LARGEST_TABLE:
        raise ValueError(
            f"{task.name}: hardening of one layer wants a word problem whose tokens are all elements of a group, such as task=s3"
        )
    elements = np.arange(group.order)
    return torch.from_numpy(group.step(elements[:, None], elements).astype(np.int64))


def chosen(options: argparse.Namespace, stack: Stack, known: Tensor) -> tuple[str, Reading, Hardening]:
    """Whose table, what was read off the weights, and the hardened maps."""
    reading = read_table(read_flat(stack))
    wrong, table = int((reading.table != known).sum()), options.table
    if table == "weights" and reading.fault:
        raise ValueError(
            f"{options.run}: no near-representation: the table read off the weights is no group's ({reading.fault}; {wrong:,} of "
            f"{known.numel():,} products are not the task's); --table task puts the task's in its place"
        )
    print(
        f"Read off the weights: {'a group' if reading.fault is None else f'no group ({reading.fault})'} after {reading.rounds} rounds; "
        f"{known.numel() - wrong:,} of {known.numel():,} products as the task has them; smallest margin {reading.margin:.3f}."
    )
    if reading.assigned:
        print(f"Of them {reading.assigned:,} are nearer to another element, which a product of the same token has.")
    return table, reading, harden(stack, reading.table if table == "weights" else known, torch.arange(len(known)))


def explain(hardening: Hardening, certificate: dict[str, Any]) -> None:
    answers, safe = hardening.answers, certificate["safe_tokens"]
    print(f"Hardened by the table of the {certificate['table']}: {certificate['group']['text']}.\n")
    print("\n".join(account.block_lines(certificate["blocks"])))
    print(f"\nRight in all {answers.pairs:,} pairs of token and state, by {answers.margin:.3g} at least. A state may be off by")
    print(f"{certificate['radius']:.3g}: rounding cannot matter for {safe['float32']:,} tokens (float64: {safe['float64']:.3g}).\n")


def keep(options: argparse.Namespace, stack: Stack, task: Task, source: dict[str, Any], certificate: dict[str, Any]) -> None:
    """Measure the hardened stack, show the numbers and write the run."""
    counts = measured(options, stack, task, source["config"]["evaluation"])
    print(account.length_table(source["accuracy"], {str(length): found for length, found in counts.items()}))
    certificate["measured"] = {str(length): account.counted(found) for length, found in counts.items()}
    certificate["exact_at"] = exact_at(counts)
    record = hardened_run.record_of(source, stack, counts)
    record |= {name: {str(length): getattr(task, name)(length) for length in counts} for name in ("chance", "constant")}
    directory = options.out or hardened_run.beside(options.run)
    hardened_run.write(directory, stack, record, certificate)
    print(f"\nWritten to {directory}")


def explain_layered(found: Layered, certificate: dict[str, Any]) -> None:
    """What was read and found, before it is measured."""
    held, answers = found.held, found.answers
    told = "token" if held.situations.period == 1 else f"{held.situations.period} tokens and the place among them"
    print(f"By its own answers {held.situations.words:,} words spell the elements of this group: {certificate['group']['text']}.")
    if not certificate["equals_task"]:
        print("They are not the task's words and elements.")
    if certificate["carriers"] is not None:
        print(f"Blocks that carry the product: {', '.join(map(str, certificate['carriers']))}; the others are held at their mean.\n")
    else:
        print(f"All layers but the last held at what they say of the last {told}: {held.share:.4f} of the variance.\n")
    if found.machine is not None:
        print(f"A machine of {found.machine.states:,} states. Right in all {answers.pairs:,} pairs of token and state,")
        print(f"by {answers.margin:.3g} at least. Nothing that is carried on is computed: that holds for any number of tokens.\n")
        return
    safe = certificate["safe_tokens"]
    print("\n".join(account.block_lines(certificate["blocks"])))
    print(f"\nRight in all {answers.pairs:,} pairs of situation and state, by {answers.margin:.3g} at least. A state may be off by")
    print(f"{certificate['radius']:.3g}: rounding cannot matter for {safe['float32']:,} tokens (float64: {safe['float64']:.3g}).\n")


def run_layered(options: argparse.Namespace, stack: Stack, task: WordProblem, source: dict[str, Any]) -> None:
    if options.table == "task":
        raise ValueError("--table task: only a flat model can be given a table; that of several layers is always read off")
    length = source["config"]["length"]
    held = hold(stack.eval(), task.period, length)
    spelling = read_answers(stack, held.situations)
    if spelling.fault is not None:
        raise ValueError(f"{options.run}: its answers to two elements are no group's ({spelling.fault}); nothing is written")
    found = harden_layered(held, spelling, length)
    if not found.right:
        raise ValueError(
            f"{options.run}: with its extractor held at what explains {held.share:.3f} of the variance, {found.answers.wrong:,} of "
            f"{found.answers.pairs:,} answers are wrong; nothing is written"
        )
    keep_layered(options, found, task, source)


def keep_layered(options: argparse.Namespace, found: Layered, task: WordProblem, source: dict[str, Any]) -> None:
    equal = equals_task(found.spelling, found.held.situations, lambda words: task.oracle(Batch(words, words)))
    certificate = account.layered_certificate(found) | {"equals_task": equal, "source": options.run.resolve().name}
    explain_layered(found, certificate)
    keep(options, found.stack, task, source, certificate)


def run(options: argparse.Namespace) -> None:
    """ValueError, one line, for a run that cannot be hardened."""
    torch.set_num_threads(1)
    stack, cfg = train.load_run(options.run)
    source, task = records.read_json(options.run / records.RESULT), train.resolve(cfg)[1]
    if len(stack.blocks) > 1 and isinstance(task, WordProblem) and isinstance(task.group, Group):
        run_layered(options, stack, task, source)
        return
    known = group_table(task)
    check_flat(stack)
    if options.table == "weights" and (found := harden_moves(stack, source["config"]["length"])) is not None:
        keep_layered(options, found, task, source)
        return
    table, reading, hardening = chosen(options, stack, known)
    if not hardening.right:
        raise ValueError(
            f"{options.run}: no near-representation of this group: with exact states {hardening.answers.wrong:,} of "
            f"{hardening.answers.pairs:,} answers are wrong; nothing is written"
        )
    radius = safe_radius(stack, stack.embed.weight, hardening.states.flatten(1), torch.arange(len(known)))
    certificate = account.certificate(hardening, reading, table, radius)
    certificate |= {"equals_task": torch.equal(hardening.table, known), "source": options.run.resolve().name}
    explain(hardening, certificate)
    keep(options, hardened_stack(stack, hardening.exact), task, source, certificate)


def main(argv: list[str] | None = None) -> int:
    try:
        run(arguments(argv))
    except (ValueError, OSError) as error:
        print(f"harden.py: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
