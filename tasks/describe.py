"""A task in words and numbers, as Markdown."""

import inspect
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tasks.algebra.structure import structure
from tasks.algebra.subgroups import LARGEST_ORDER, subgroups
from tasks.algebra.transitions import Alphabet, Group, Transitions
from tasks.base import IGNORE, Task
from tasks.lengths import has_length
from tasks.rungs import ceiling, needs, recorded, rungs
from tasks.stream import generator
from tasks.word_problem import WordProblem

HEADS = {"per_position": "at every position", "last": "at the end", "autoencode": "for the whole word, from the state at its end"}
# Tables larger than this are left out.
LARGEST_SHOWN = 12
# A sample is of the shortest length from here on, and shows so many positions.
SHORT, SHOWN, LONGEST_TRIED = 16, 40, 2048


def sections(task: Task, lengths: Sequence[int]) -> list[str]:
    """What goes in and out, the algebra, a worked sample, the floors and the rungs."""
    short = next(length for length in (*range(SHORT, LONGEST_TRIED), *range(SHORT, 0, -1)) if has_length(task, length))
    parts = [facts(task), *algebra(task), sample(task, short), floors(task, lengths), by_position(task, short), ladder(task)]
    return [part for part in parts if part]


def facts(task: Task) -> str:
    """Inputs, targets, head and bar."""
    width = {"tokens": "{} tokens", "classes": "{} classes", "vectors": "vectors of {}"}
    inputs, targets = (width[space.kind].format(space.size) for space in (task.inputs, task.targets))
    sign = ">=" if task.metric.higher_is_better else "<="
    gaps = ", and the time gap before each" if getattr(task, "timed", False) else ""
    return f"In: {inputs}{gaps}. Out: {targets}, {HEADS[task.head]}. Fits at {task.metric.name} {sign} {task.metric.bar:g}."


def algebra(task: Task) -> list[str]:
    """Of a word problem: what its group is, and its tables where they are small."""
    if not isinstance(task, WordProblem):
        return []
    alphabet = task.group if isinstance(task.group, Alphabet) else None
    whole = alphabet.transitions if alphabet else task.group
    parts = [group_facts(whole) if isinstance(whole, Group) else f"{whole.n_states} states, {whole.n_tokens} tokens; not a group."]
    if alphabet:
        parts.append(f"Tokens stand for the elements {' '.join(map(str, alphabet.elements))}.")
    if max(whole.n_tokens, whole.n_states) <= LARGEST_SHOWN:
        parts.append("Row: new element. Column: state.\n\n" + block(table(whole)))
    if task.latin_square is not None and len(task.latin_square) <= LARGEST_SHOWN:
        parts.append(f"{2**task.levels} tokens make an element. Row: first. Column: second.\n\n" + block(rows(task.latin_square)))
    return parts


def group_facts(group: Group) -> str:
    found = structure(group)
    factors = " x ".join(f"C{factor}" for factor in found.abelianisation) or "trivial"
    layers = f"solvable in {found.derived_length} Abelian layers" if found.is_solvable else "not solvable"
    kind = "Abelian" if found.is_abelian else layers
    inside = f", {len(subgroups(group))} subgroups" if group.order <= LARGEST_ORDER else ""
    series = " > ".join(map(str, found.derived_series))
    return (
        f"A group of order {found.order}, exponent {found.exponent}{inside}; {kind}. Derived series {series}; abelianisation {factors}. "
        f"Counting tokens without their order tells at most {ceiling(group):.4g} of the states, far from the start."
    )


def table(transitions: Transitions) -> str:
    return rows(transitions.step(np.arange(transitions.n_tokens)[:, None], np.arange(transitions.n_states)))


def rows(entries: np.ndarray) -> str:
    width = len(str(int(entries.max())))
    return "\n".join(" ".join(f"{entry:{width}d}" for entry in row) for row in entries.tolist())


def block(text: str) -> str:
    return f"```\n{text}\n```"


def sample(task: Task, length: int) -> str:
    """The beginning of the first validation sequence; a dot where nothing is scored."""
    batch = task.sample(generator(task.name, "shown", length), 1, length)
    lines = [("x", batch.inputs[0], 1), ("gap", batch.delta_t, 0), ("y", batch.targets[0], 1)]
    shown = [(name, values if whole else values[0]) for name, values, whole in lines if values is not None]
    if batch.inputs.dim() == 3 and batch.inputs.shape[2] > 2:
        shown = shown[1:]
    text = "\n".join(f"{name:4}{' '.join(map(_written, _head(values)))}" for name, values in shown)
    beginning = f", its first {SHOWN} positions" if length > SHOWN else ""
    return f"A sample of length {length}{beginning}:\n\n{block(text)}"


def _head(values: Tensor) -> list:
    return values.reshape(-1, *values.shape[1:])[:SHOWN].tolist() if values.dim() else [values.item()]


def _written(value: float | list[float]) -> str:
    if isinstance(value, list):
        return f"({' '.join(map(_written, value))})"
    return "." if value == IGNORE else f"{value:.2f}" if isinstance(value, float) else str(value)


def floors(task: Task, lengths: Sequence[int]) -> str:
    """Chance and the constant predictor by length."""
    lines = [f"| {n} | {task.chance(n):.4f} | {task.constant(n):.4f} |" for n in lengths if has_length(task, n)]
    return "\n".join(["| length | chance | constant |", "|---|---|---|", *lines]) if lines else ""


def by_position(task: Task, length: int) -> str:
    """Chance at the first positions; a dot where nothing is ever scored."""
    if task.head == "last":
        return ""
    chance = task.position_chance(length)[:SHOWN]
    return "Chance by position: " + " ".join("." if torch.isnan(value) else f"{value.item():.3g}" for value in chance)


def ladder(task: Task) -> str:
    lines = [f"| {rung.mixer} | {rung.should} |" for rung in rungs(task)]
    table = "\n".join(["| rung | what one layer can hold at any length |", "|---|---|", *lines]) if lines else ""
    notes = "\n".join(["Recorded by the minGRU ladder:", "", *(f"- {line}" for line in recorded(task))]) if recorded(task) else ""
    return "\n\n".join(part for part in (needs(task), table, notes) if part)


def docstring(target: Callable) -> str:
    """A class's or function's own account of itself, as preformatted text."""
    return block(inspect.getdoc(target) or "")
