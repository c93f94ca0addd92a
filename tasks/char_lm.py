"""Character language modelling on a text of the user's, or on the source of Python's standard library."""

import copy
import functools
import math
import sysconfig
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.algebra.files import project_file
from tasks.base import Batch, Split, accuracy, check_request, classes, scored_mean, tokens

# The text is dealt out in blocks: of every 30, one each to validation, re-measurement and test, and 27 to training.
ROUND = 30
PLACES = {"validation": 0, "fresh": 10, "test": 20}
BLOCK = 2**16
SKIPPED = {"test", "tests", "idlelib", "site-packages", "dist-packages", "__pycache__"}


class CharLM:
    """Bytes of a text; the target at every position is the next byte.

    A sequence is a window of its split's share of the text. Without a `file` the text is the source of Python's standard library as found
    on the machine, so that its numbers depend on Python's version. A position is determined by the next input, which is what `oracle`
    looks at; at the last one it guesses a space.

    "if x:"   x 105 102 32 120   y 102 32 120 58
    "a+b\\n"   x 97 43 98         y 43 98 10
    """

    head = "per_position"
    prefix_closed = True

    def __init__(self, name: str, file: str | None = None, bar: float = 0.5) -> None:
        self.name, self._part = name, "test"
        self._shares = _library_shares() if file is None else _shares(project_file(file).read_bytes())
        self.inputs, self.targets, self.metric = tokens(256), classes(256), accuracy(bar)

    def split(self, name: Split) -> "CharLM":
        task = copy.copy(self)
        task._part = name
        return task

    def check_length(self, length: int) -> None:
        longest = min(len(share) for share in self._shares.values()) - 1
        if not 1 <= length <= longest:
            raise ValueError(f"{self.name}: length {length} is not from 1 to {longest}, of which the text has windows in every split")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        share = self._shares[self._part]
        first = torch.randint(len(share) - length, (batch,), generator=generator)
        windows = torch.from_numpy(share[(first[:, None] + torch.arange(length + 1)).numpy()].astype(np.int64))
        return Batch(windows[:, :-1].contiguous(), windows[:, 1:].contiguous())

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        """The share of the commonest byte in the test text."""
        self.check_length(length)
        share = self._shares["test"]
        return torch.full((length,), np.bincount(share).max() / len(share), dtype=torch.float64)

    def oracle(self, batch: Batch) -> Tensor:
        following = batch.inputs.roll(-1, 1)
        following[:, -1] = ord(" ")
        return following


def _shares(content: bytes) -> dict[str, np.ndarray]:
    """The bytes of each split: whole blocks of the text, one after the other."""
    text = np.frombuffer(content, np.uint8)
    block = max(1, min(BLOCK, math.ceil(len(text) / ROUND)))
    place = np.arange(len(text)) // block % ROUND
    shares = {split: text[place == k] for split, k in PLACES.items()}
    return shares | {"train": text[~np.isin(place, list(PLACES.values()))]}


@functools.cache
def _library_shares() -> dict[str, np.ndarray]:
    return _shares(library_source())


@functools.cache
def library_source() -> bytes:
    """The modules of Python's standard library without its tests, by name."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(file for file in library.rglob("*.py") if SKIPPED.isdisjoint(file.relative_to(library).parts))
    return b"\n".join(file.read_bytes() for file in files)
