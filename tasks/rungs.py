"""What each rung of the ladder should do on a task: what its transitions can hold, what is wanted, and what the reference recorded."""

from dataclasses import dataclass

from tasks.algebra.quotients import is_planar, is_spatial
from tasks.algebra.structure import Structure, structure
from tasks.algebra.subgroups import LARGEST_ORDER
from tasks.algebra.transitions import Alphabet, Group
from tasks.base import Task
from tasks.word_problem import WordProblem

GRID = (1, 2, 3, 4, 6)


@dataclass(frozen=True)
class Rung:
    mixer: str
    should: str


def rungs(task: Task) -> list[Rung]:
    """One line per rung, for a word problem: what a single layer can hold however long the sequence is."""
    if not isinstance(task, WordProblem):
        return []
    group = task.group.transitions if isinstance(task.group, Alphabet) else task.group
    return _of_group(group) if isinstance(group, Group) else _AUTOMATA


def needs(task: Task) -> str:
    """For other tasks, and for hierarchies: what kind of memory is wanted."""
    if isinstance(task, WordProblem):
        spelled = f"{2**task.levels} tokens spell one element, so every rung wants layers below it that find out which."
        return spelled if task.levels else ""
    return _NEEDS.get(type(task).__name__, "")


def recorded(task: Task) -> list[str]:
    """Results of the minGRU ladder (version 0.2.0) on this task: its own protocol, machines and seeds."""
    return _RECORDED.get(task.name, [])


def ceiling(group: Group) -> float:
    """The accuracy, far from the start, of a model that counts tokens and knows nothing of their order: 1 / |[G, G]|."""
    series = structure(group).derived_series
    return 1 / (series[1] if len(series) > 1 else series[0])


def _of_group(group: Group) -> list[Rung]:
    facts, small = structure(group), group.order <= LARGEST_ORDER
    signs = 2 ** sum(factor % 2 == 0 for factor in facts.abelianisation)
    grid, plane = (is_planar(group, GRID), is_planar(group)) if small else (None, None)
    return [
        Rung("log", "nothing: decay between 0 and 1 forgets"),
        Rung("signed", _told(signs, group.order)),
        Rung("rotation", _held(grid, "turns by halves, thirds, quarters and sixths")),
        Rung("rotation_free", _held(plane, "symmetries of polygons")),
        Rung("givens", "exact where eight dimensions can hold it, as they hold S8; 12 of the 28 planes of rotation"),
        Rung("delta", _reflected(group, facts, plane)),
        Rung("reflection", "exact where eight dimensions can hold it and no token moves more than four of them, as they hold S5"),
        Rung("selection", "exact where sets of up to eight points tell its elements apart, as they do for S8"),
    ]


def _told(classes: int, order: int) -> str:
    if classes == order:
        return "exact, by signs"
    told = f"tell {classes} classes of" if classes > 1 else "tell nothing of the"
    return f"not exact: signs {told} {order} states, an accuracy of {classes / order:.4g}"


def _held(planar: bool | None, by: str) -> str:
    if planar is None:
        return f"not worked out above order {LARGEST_ORDER}"
    return f"exact, by {by}" if planar else f"not exact: {by} do not hold it"


def _reflected(group: Group, facts: Structure, plane: bool | None) -> str:
    if is_spatial(group) or plane:
        return "exact with two reflections per token"
    return "not exact with two reflections per token" if not facts.is_abelian else "exact with two reflections per head"


_AUTOMATA = [
    Rung("log", "can forget and store, which a flip-flop asks for"),
    Rung("signed", "can forget, store and flip"),
    Rung("rotation", "can turn what it holds, and forget one axis of a plane at a time"),
    Rung("givens", "turns only: what was stored over comes back"),
    Rung("delta", "can write over what it holds, one direction per reflection"),
    Rung("reflection", "turns only: what was stored over comes back"),
    Rung("selection", "exact with up to eight states: each token chooses where each of them goes"),
]
_RECALL = "Memory for pairs. `delta` holds them as a matrix, as many as keys have dimensions; the other rungs have vectors, which hold few."
_EVERYTHING = "Memory for every token and its place: the size of the state decides."
_FILTER = "A filter over recent readings, which every rung can be. The entry layer is linear."
_NEEDS = {
    "Mqar": _RECALL,
    "ZoologyMqar": _RECALL,
    "InContextRecall": _RECALL,
    "SelectiveCopying": _EVERYTHING,
    "Compression": _EVERYTHING,
    "TimestampedParity": (
        "A sign, which `signed` flips, `rotation` and `givens` turn by halves and `delta` reflects, and which `log` does not have. "
        "To drop it at a long gap takes decay by time, or time as an input."
    ),
    "Dyck": "A stack as deep as the brackets: to turn by what opens and back by what closes, or to write and erase.",
    "ModularArithmetic": "Addition modulo n is a turn. Products, and brackets most of all, ask for more layers than one.",
    "ListOps": "A stack of lists, of which a linear recurrence can follow short ones.",
    "Pendulum": _FILTER,
    "PendulumImages": _FILTER,
    "PixelSequences": "Long memory: decay near 1, which carries evidence to the end.",
    "CharLM": "Recent bytes, and more of them the larger the state is.",
}
_RECORDED = {
    "parity": ["signed: 1.000 at 64, .994 at 1,024 (6 seeds, the worst .984); log: .542 at 64, .502 at 1,024"],
    "s3": [
        "rotation: 1.000 at 64, .958 at 1,024 (8 seeds, one of them exact)",
        "delta, two reflections: 1.000 at 64, .989 at 1,024 (3 seeds); one reflection: .419 at 64",
        "signed: .999 at 64, .732 at 1,024 (3 seeds); log: .229 at 64",
    ],
    "s3_hier": [
        "[signed, givens]: 25 of 36 seeds fit; .929 at 64, .571 at 1,024",
        "[signed, delta] with 1,024 state elements: 35 of 36; .984 at 64, .561 at 1,024; with 64: 10 of 36",
        "[signed, rotation]: 1 of 6; one layer of rotation, delta or GRU: .225 to .238 at 64",
    ],
    "s5": ["[signed, givens]: 1 of 36 fits; every other pair of layers, and a GRU: 0 of 36"],
    "mqar": ["delta, twice or after signed: 36 of 36 fit; .931 with 16 pairs at 256; every vector mixer, and a GRU: 0 of 36"],
    "psmnist": ["[signed, delta]: 12 of 12 reach .90 (.924 on test); delta 10; GRU 3; log, signed, rotation, givens 0"],
    "pendulum": ["every mixer and a GRU: 36 of 36"],
    "session_parity": ["signed with decay and time as an input: 1.000 at 64, .998 at 256; with time alone .993; with decay alone .947"],
    "parity_timestamped": ["signed with decay and time as an input: .786 at 256, its decay learned down to .05; with time alone 1.000"],
}
