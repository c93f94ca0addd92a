"""Groups and automata from the user's own files."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tasks.algebra.automata import Automaton
from tasks.algebra.cayley import CayleyTable
from tasks.algebra.transitions import Indices

PROJECT = Path(__file__).resolve().parents[2]


def project_file(name: str | Path) -> Path:
    """The file; a relative name counts from the project's root, wherever the command was started."""
    file = PROJECT / Path(name).expanduser()
    if not file.is_file():
        raise ValueError(f"{name}: no such file ({file})")
    return file


def is_table_file(name: str) -> bool:
    return name.lower().endswith((".csv", ".npy"))


def read_table(name: str | Path) -> Indices:
    """The whole numbers of a .npy file, or of a text file with one row per line, separated by commas or spaces."""
    file = project_file(name)
    try:
        if file.suffix.lower() == ".npy":
            return np.load(file, allow_pickle=False)
        rows = [line.replace(",", " ").split() for line in file.read_text().splitlines() if line.strip()]
        return np.array([[int(entry) for entry in row] for row in rows])
    except ValueError as error:
        raise ValueError(f"{name}: a table of whole numbers with rows of one length is wanted: {str(error).splitlines()[0]}") from None


def read_group(name: str | Path) -> CayleyTable:
    """The group whose multiplication table the file holds: row a, column b is ab, in which b acts first; element 0 is the identity."""
    table = read_table(name)
    try:
        return CayleyTable(table)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def read_automaton(file: str | None) -> Automaton:
    """A finite automaton: a table with one row per token and one column per state (.csv, .npy), or a .json file.

    The .json has `states` and `alphabet`, lists of names, `start`, and `transitions`, from state to symbol to state.
    """
    if file is None:
        raise ValueError("an automaton is read from a file: task.group.file=mine.json")
    try:
        if Path(file).suffix.lower() != ".json":
            return Automaton(read_table(file))
        return _from_json(json.loads(project_file(file).read_text()))
    except ValueError as error:
        message = str(error).splitlines()[0]
        raise ValueError(message if message.startswith(str(file)) else f"{file}: {message}") from None


def _from_json(content: Any) -> Automaton:
    missing = [key for key in ("states", "alphabet", "start", "transitions") if not isinstance(content, dict) or key not in content]
    if missing:
        raise ValueError(f"an automaton has states, alphabet, start and transitions, but {missing[0]} is missing")
    states, transitions = content["states"], content["transitions"]
    number = {state: i for i, state in enumerate(states)}
    if content["start"] not in number:
        raise ValueError(f"start {content['start']!r} is not one of the states {states}")
    table = []
    for symbol in content["alphabet"]:
        row = []
        for state in states:
            target = transitions.get(state, {}).get(symbol)
            if target not in number:
                raise ValueError(f"the transition of state {state!r} by {symbol!r} is {target!r}, which is not one of the states {states}")
            row.append(number[target])
        table.append(row)
    return Automaton(table, number[content["start"]])
