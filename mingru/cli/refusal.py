"""One line for a command that cannot run: what came, what was wanted, and the nearest valid choice."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence

import yaml
from hydra.errors import InstantiationException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from mingru.schema import nearest

PROGRAM = "train.py"
_LEXER = "LexerNoViableAltException: "


class Refusal(Exception):
    """The command line is refused; the message is shown to the user as it stands, on one line."""


def leave(refusal: Refusal) -> None:
    """Write the line to stderr and exit with code 2; HYDRA_FULL_ERROR=1 shows the error behind it first."""
    if os.environ.get("HYDRA_FULL_ERROR") == "1" and refusal.__cause__ is not None:
        traceback.print_exception(refusal.__cause__)
    sys.stderr.write(f"{PROGRAM}: error: {' '.join(str(refusal).split())}\n")
    raise SystemExit(2)


def reason(error: BaseException) -> str:
    """The innermost message worth reading: Hydra and OmegaConf wrap it and append their own bookkeeping."""
    if isinstance(error, InstantiationException):
        where = re.search(r"full_key: (\S+)", str(error))
        inner = reason(error.__cause__) if error.__cause__ is not None else str(error)
        return f"{where[1]}: {inner}" if where else inner
    if isinstance(error, OmegaConfBaseException):
        text = str(error).split("\n    full_key:")[0]
        return f"{error.full_key}: {text}" if error.full_key else text
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem_mark.name}, line {error.problem_mark.line + 1}: {error.problem or error.context}"
    return str(error) or type(error).__name__


def explain(error: Exception, overrides: Sequence[str], groups: Callable[[str], list[str]]) -> str:
    """One line for an error of Hydra's composition.

    `overrides` is the composed line; `groups(parent)` lists the config groups below a parent group, "" being the top.
    """
    cause = error.__cause__
    if isinstance(error, OverrideParseException):
        return f"{error.override}: not in Hydra's grammar: {_grammar(error)}"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file is not None:
        return _missing(error, overrides)
    if isinstance(cause, (ConfigAttributeError, ConfigKeyError)) and cause.full_key:
        return _unknown_key(cause, overrides, groups)
    if isinstance(cause, OmegaConfBaseException):
        merged = re.match(r"Error merging override (.*)", str(error))
        return f"{merged[1]}: {str(cause).splitlines()[0]}" if merged else reason(cause)
    return reason(error)


def _grammar(error: OverrideParseException) -> str:
    lines = [line for line in error.message.splitlines() if not line.startswith(("See https://", "Error parsing"))]
    if lines and lines[0].startswith(_LEXER):
        column = len(lines[-1]) - len(_LEXER) - 1
        return f"unexpected {error.override[column : column + 1]!r} at character {column + 1}; quote the value"
    return " ".join(lines)


def _missing(error: MissingConfigException, overrides: Sequence[str]) -> str:
    if error.options is None:
        return str(error).splitlines()[0]
    group, _, name = error.missing_cfg_file.rpartition("/")
    came = f"{group}={name} (from a defaults list)"
    for override in overrides:
        key, _, value = override.lstrip("+").partition("=")
        if f"{key}/{value.strip()}" == error.missing_cfg_file:
            came, group, name = override, key, value.strip()
    return f"{came}: no {group} named {name!r}{nearest(name, error.options)}"


def _unknown_key(cause: OmegaConfBaseException, overrides: Sequence[str], groups: Callable[[str], list[str]]) -> str:
    key = cause.full_key
    came = next((override for override in overrides if override.split("=")[0].lstrip("+") == key), key)
    if "/" in key:
        parent = key.rpartition("/")[0]
        return f"{came}: no config group {key!r}{nearest(key, groups(parent))}"
    parent, _, last = key.rpartition(".")
    siblings = {str(name) for name in cause.parent_node} if isinstance(cause.parent_node, DictConfig) else set()
    names = {name for name in siblings if not name.startswith("_")} | (set() if parent else set(groups("")))
    return f"{came}: no key {last!r}{f' in {parent}' if parent else ''}{nearest(last, names - {'hydra'})}"
