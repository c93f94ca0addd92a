"""The words of a command line: overrides and flags in any order, and the line that a shell asks to complete."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import NoReturn

from hydra._internal.utils import get_args_parser

from mingru.cli.ranges import SWEEP_KEYS
from mingru.cli.refusal import Refusal
from mingru.schema import nearest


@dataclass(frozen=True)
class Line:
    """A command line taken apart: overrides as typed, flags each with its value, and what argparse reads in them."""

    overrides: tuple[str, ...]
    flags: tuple[tuple[str, ...], ...]
    args: argparse.Namespace

    @property
    def shows(self) -> bool:
        """Whether the command prints something about the config instead of running it."""
        return bool(self.args.help or self.args.hydra_help or self.args.cfg or self.args.info is not None)

    def flags_without(self, *names: str) -> list[str]:
        """The flags' words but for those whose long names these are, in argparse's spelling: `config_path`."""
        parser = get_args_parser()
        actions = [(flag, _action(parser, flag[0].split("=")[0])) for flag in self.flags]
        return [word for flag, action in actions if action is None or action.dest not in names for word in flag]


def read(argv: Sequence[str]) -> Line:
    """Take a command line apart. Raises Refusal for an unknown flag, flags that exclude each other, or a bare word."""
    parser = get_args_parser()
    overrides, flags = split(argv, parser)
    parser.error = _refuse_flag
    args = parser.parse_args([*overrides, *(word for flag in flags for word in flag)])
    _refuse_two_commands(args)
    if args.resolve and not (args.cfg or args.help):
        raise Refusal("--resolve: wanted together with --cfg or --help")
    if args.shell_completion and not any(re.fullmatch(r"(install|uninstall|query)=(bash|fish|zsh)", word) for word in overrides):
        raise Refusal("--shell-completion: wanted install=, uninstall= or query= with bash, fish or zsh, such as install=bash")
    if args.experimental_rerun is not None and not os.path.isfile(args.experimental_rerun):
        raise Refusal(f"--experimental-rerun {args.experimental_rerun}: no such file")
    for override in overrides:
        if not re.match(r"~[^=\s]|\+{0,2}[^=\s+~][^=]*=", override):
            raise Refusal(f"{override}: wanted key=value, for example mixer=givens or seed=0-35")
    return Line(tuple(overrides), tuple(flags), args)


def split(argv: Sequence[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[tuple[str, ...]]]:
    """Overrides, and flags each with its value, both in the order they came.

    argparse takes overrides in one block only, so that `mixer=givens -m seed=0-35` is an error to it.
    """
    overrides: list[str] = []
    flags: list[tuple[str, ...]] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return overrides + rest, flags
        if not word.startswith("-"):
            overrides.append(word)
        elif rest and _takes_value(parser, word, rest[0]):
            flags.append((word, rest.pop(0)))
        else:
            flags.append((word,))
    return overrides, flags


def _action(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    exact = [action for action in parser._actions if word in action.option_strings]
    if exact or not word.startswith("--"):
        return exact[0] if exact else None
    near = [action for action in parser._actions if any(name.startswith(word) for name in action.option_strings)]
    return near[0] if len(near) == 1 else None


def _takes_value(parser: argparse.ArgumentParser, word: str, following: str) -> bool:
    action = _action(parser, word)
    if action is None or action.nargs == 0:
        return False
    # --info takes a value only when one of its own follows: `--info mixer=givens` has none.
    return action.nargs != "?" or following in (action.choices or ())


def _refuse_two_commands(args: argparse.Namespace) -> None:
    # -m beside --cfg or --info is welcome: they show the sweep's first job.
    shown = [f"--{name}" for name in ("cfg", "info") if getattr(args, name) is not None]
    multirun = ["--multirun"] if args.multirun and not shown else []
    others = [f"--{name.replace('_', '-')}" for name in ("run", "shell_completion") if getattr(args, name)]
    if len(shown + multirun + others) > 1:
        raise Refusal(f"{' '.join(shown + multirun + others)}: only one of these can be given")


def _refuse_flag(message: str) -> NoReturn:
    unknown = re.fullmatch(r"unrecognized arguments: (\S+).*", message)
    if unknown:
        names = [name for action in get_args_parser()._actions for name in action.option_strings if name.startswith("--")]
        raise Refusal(f"{unknown[1]}: no such flag{nearest(unknown[1], names)}; settings are key=value, without dashes")
    raise Refusal(message)


def completion_line(line: str, script: str) -> str | None:
    """What Hydra's completion can read for `line`, or None where the word in progress is no override.

    Hydra reads it with argparse, overrides in one block, and composes what stands before the word in progress; a sweep
    composes under -m only, and `seed=0-3` means nothing to it.
    """
    words = line.split()
    at = next((i for i, word in enumerate(words) if PurePath(word).name == PurePath(script).name), 0)
    current = "" if not words or line[-1].isspace() else words.pop()
    marker = current or "key="
    overrides, _ = split([*words[at + 1 :], marker], get_args_parser())
    if overrides[-1:] != [marker]:
        return None
    whole = [word for word in overrides[:-1] if word.lstrip("+").split("=")[0] not in SWEEP_KEYS]
    return " ".join(["python", PurePath(script).name, "-m", *whole, current])
