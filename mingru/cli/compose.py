"""Compose a command line before Hydra does: every distinct cell of a run or a sweep, or one line saying what is wrong."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra import version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import RunMode
from omegaconf import DictConfig

from mingru.cli.refusal import Refusal, explain

VERSION_BASE = "1.3"
# Groups whose choice is one name: Hydra would merge the files of a list.
ONE_NAME = ("task", "mixer", "curriculum", "schedule")


class Composer:
    """Hydra's config loader over a conf folder; whatever it objects to becomes a Refusal."""

    def __init__(self, conf: str, config_dir: str | None, config_name: str) -> None:
        version.setbase(VERSION_BASE)
        search_path = create_config_search_path(conf)
        if config_dir is not None:
            if not os.path.isdir(config_dir):
                raise Refusal(f"--config-dir {config_dir}: no such folder")
            anchor = SearchPathQuery(provider="schema")
            search_path.prepend(provider="command-line", path=f"file://{os.path.abspath(config_dir)}", anchor=anchor)
        self._config_name = config_name
        self._loader = Hydra.create_main_hydra2("train", search_path).config_loader
        # Hydra's own main makes the instance that the job sees.
        GlobalHydra.instance().clear()

    def parse(self, overrides: Sequence[str]) -> list[Override]:
        with self.explained(overrides):
            return OverridesParser.create(config_loader=self._loader).parse_overrides(list(overrides))

    def load(self, overrides: Sequence[str], mode: RunMode) -> DictConfig:
        """Compose one config, Hydra's own part included; under RunMode.MULTIRUN the sweeping overrides are left out."""
        for override in self.parse(overrides):
            self._refuse_bad_choice(override)
        with self.explained(overrides):
            return self._loader.load_configuration(self._config_name, list(overrides), mode)

    def groups(self, parent: str) -> list[str]:
        """The config groups below a parent group, "" being the top."""
        names = self._loader.get_group_options(parent, ObjectType.GROUP)
        return [f"{parent}/{name}" if parent else name for name in names]

    @contextmanager
    def explained(self, overrides: Sequence[str]) -> Iterator[None]:
        try:
            with warnings.catch_warnings():
                # Hydra composes the same again and warns then.
                warnings.simplefilter("ignore")
                yield
        # Hydra lets its parser's, YAML's and its own asserts through as they are.
        except Exception as error:
            raise Refusal(explain(error, overrides, self.groups)) from error

    def _refuse_bad_choice(self, override: Override) -> None:
        group, value = override.key_or_group, override.value()
        if override.is_sweep_override() or override.is_delete() or isinstance(value, (str, dict)):
            return
        if group not in self.groups(group.rpartition("/")[0]) or (isinstance(value, list) and group not in ONE_NAME):
            return
        names = ", ".join(sorted(self._loader.get_group_options(group))) or "none"
        layers = f"; layers in order are stack={override.get_value_string()}" if group == "mixer" and isinstance(value, list) else ""
        absent = f"; ~{group} chooses none" if value is None else ""
        raise Refusal(f"{override.input_line}: wanted one name; valid: {names}{layers}{absent}")
