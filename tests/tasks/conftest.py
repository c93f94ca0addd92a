"""Tasks as their YAML files in conf/task define them, with the files that some of them want."""

import json
import struct
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from tasks.algebra.names import named_group
from tasks.word_problem_file import different_words, write_words

TASKS = Path(__file__).parents[2] / "conf" / "task"
PRESETS = sorted(file.stem for file in TASKS.glob("*.yaml"))
WORDS = 8


@pytest.fixture
def task_folder():
    return TASKS


@pytest.fixture
def preset(task_folder):
    def build(name, **settings):
        node = OmegaConf.merge(OmegaConf.load(task_folder / f"{name}.yaml"), settings)
        node.pop("extractor")
        return instantiate(node, _convert_="all")

    return build


@pytest.fixture
def file_settings(tmp_path, monkeypatch):
    """The settings that name the files which a preset wants, made here."""
    files = {
        "psmnist": lambda: {"folder": mnist(tmp_path)},
        "psmnist_bitreversed": lambda: {"folder": mnist(tmp_path)},
        "digits": lambda: scikit_learn(monkeypatch),
        "automaton": lambda: {"group": {"file": automaton(tmp_path)}},
        "word_problem_file": lambda: {"group": "A4", "file": words(tmp_path)},
        "char_lm": lambda: {"file": text(tmp_path)},
    }
    return lambda name: files.get(name, dict)()


@pytest.fixture
def complete(preset, file_settings):
    """A preset with the files it wants."""
    return lambda name, **settings: preset(name, **file_settings(name), **settings)


def mnist(folder):
    """IDX files of 60 and 20 random pictures."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 60), ("t10k", 20)):
        for kind, shape, most in (("images-idx3", (count, 28, 28), 256), ("labels-idx1", (count,), 10)):
            header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
            (folder / f"{part}-{kind}-ubyte").write_bytes(header + rng.integers(most, size=shape, dtype=np.uint8).tobytes())
    return str(folder)


def scikit_learn(monkeypatch):
    """In place of scikit-learn, so that it need not be installed: random digits."""
    rng = np.random.default_rng(0)
    data = SimpleNamespace(images=rng.integers(17, size=(100, 8, 8)).astype(float), target=rng.integers(10, size=100))
    package, datasets = ModuleType("sklearn"), ModuleType("sklearn.datasets")
    # torch looks for the specification of scikit-learn when it builds its first optimiser.
    package.__spec__ = ModuleSpec("sklearn", None)
    datasets.load_digits = lambda: data
    monkeypatch.setitem(sys.modules, "sklearn", package)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", datasets)
    return {}


def automaton(folder):
    """Strings over a, b that end in ab."""
    moves = {"none": {"a": "a", "b": "none"}, "a": {"a": "a", "b": "ab"}, "ab": {"a": "a", "b": "none"}}
    content = {"states": ["none", "a", "ab"], "alphabet": ["a", "b"], "start": "none", "transitions": moves}
    (folder / "ends.json").write_text(json.dumps(content))
    return str(folder / "ends.json")


def words(folder):
    group = named_group("A4")
    write_words(folder / "A4=8.csv", group, different_words(group, WORDS, 400, seed=0))
    return str(folder / "A4=8.csv")


def text(folder):
    rng = np.random.default_rng(0)
    (folder / "text.txt").write_bytes(bytes(rng.choice(list(b"state tracking\n"), 20_000).tolist()))
    return str(folder / "text.txt")
