"""Word problems in the file format of the `word-problem` repository: CSV with a header and one word per row.

    seed,input,target
    0,3 1 5,3 2 4

`input` and `target` are element numbers. There the target is op(acc, x), from the identity on: the new element stands on the right. In this
project it stands on the left, so a file's targets are those of the transposed table, and writing and reading both work them out anew. Its
element numbers are ours: permutations in lexicographic order, residues, and the last factor of a product runs fastest.

Source: Merrill, Petty and Sabharwal 2024, arXiv:2404.08819; columns as its generate_data.py writes them.
"""

import copy
import csv
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tasks.algebra.files import project_file
from tasks.algebra.names import named_group
from tasks.algebra.transitions import Group, check_tokens
from tasks.base import Batch, Split, rows
from tasks.stream import generator
from tasks.word_problem import WordProblem

HEADER = ["seed", "input", "target"]
MOST_WORDS = 10_000_000


def right_products(group: Group, words: Tensor) -> Tensor:
    """acc = op(acc, x) from the identity on: (B, T) -> (B, T)."""
    elements, acc = words.numpy(), np.zeros(len(words), np.int64)
    check_tokens(elements, group.order)
    products = np.empty_like(elements)
    for t in range(elements.shape[1]):
        acc = products[:, t] = group.step(acc, elements[:, t])
    return torch.from_numpy(products)


def left_products(group: Group, words: Tensor) -> Tensor:
    return torch.from_numpy(group.run(words.numpy()))


def all_words(group: Group, length: int) -> Tensor:
    """Every word of this length, the last element running fastest."""
    count = group.order**length
    if length < 1 or count > MOST_WORDS:
        raise ValueError(f"{group.order}^{length} words are too many or none; ask for a number of samples")
    numbers = torch.arange(count)
    return torch.stack([numbers // group.order ** (length - 1 - t) % group.order for t in range(length)], 1)


def different_words(group: Group, length: int, count: int, seed: int) -> Tensor:
    """So many words, uniform and all different: a function of the group's order, the length and the seed."""
    if length < 1 or count < 1 or 2 * count > group.order**length:
        raise ValueError(
            f"at most half of the {group.order}^{length} words of length {length} are drawn, and at least 1, got {count}; "
            "without a number of samples all are written"
        )
    found: dict[bytes, Tensor] = {}
    index = 0
    while len(found) < count:
        words = torch.randint(group.order, (count, length), generator=generator("word-problem file", group.order, length, seed, index))
        found |= {word.numpy().tobytes(): word for word in words if word.numpy().tobytes() not in found}
        index += 1
    return torch.stack(list(islice(found.values(), count)))


def write_words(file: str | Path, group: Group, words: Tensor, seed: int = 0) -> None:
    """Write words with their targets, whole or not at all."""
    file = Path(file)
    temporary = file.with_name(f"{file.name}.part")
    with temporary.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        pairs = zip(words.tolist(), right_products(group, words).tolist(), strict=True)
        writer.writerows([seed, _spaced(word), _spaced(target)] for word, target in pairs)
    os.replace(temporary, file)


def read_words(file: str | Path, group: Group) -> Batch:
    """The words of a file with this project's targets. ValueError, naming file and row, where a target is not op(acc, x)."""
    with project_file(file).open(newline="") as stream:
        reader = csv.DictReader(stream)
        missing = [key for key in HEADER[1:] if key not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"{file}: the header {','.join(HEADER)} is wanted, got {','.join(reader.fieldnames or []) or 'an empty file'}")
        records = [(row["input"], row["target"]) for row in reader]
    if not records:
        raise ValueError(f"{file}: holds no words")
    try:
        columns = ([[int(entry) for entry in text.split()] for text in column] for column in zip(*records, strict=True))
        words, targets = map(torch.tensor, columns)
        products = right_products(group, words)
    except (ValueError, AttributeError) as error:
        wanted = f"words and targets of one length, of element numbers below {group.order}, are wanted"
        raise ValueError(f"{file}: {wanted}: {str(error).splitlines()[0]}") from None
    _compare(file, targets, products, left_products(group, words))
    return Batch(words, left_products(group, words))


def _compare(file: str | Path, targets: Tensor, products: Tensor, reversed_products: Tensor) -> None:
    if torch.equal(targets, products):
        return
    if torch.equal(targets, reversed_products):
        raise ValueError(f"{file}: targets have the new element on the left; in this format it stands on the right, op(acc, x)")
    if targets.shape != products.shape:
        raise ValueError(f"{file}: {products.shape[1]} targets per word are wanted, one per element, got {targets.shape[1]}")
    row, t = (targets != products).nonzero()[0].tolist()
    raise ValueError(f"{file}: row {row + 1}, element {t + 1}: op(acc, x) is {products[row, t]}, got {targets[row, t]}")


def _spaced(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


class WordProblemFile(WordProblem):
    """A word problem whose sequences are the words of a file.

    Of every twenty sixteen are to train on, two to validate, one to re-measure, one to test. The length is that of the words. Targets are
    this project's, with the new element on the left.

    S3, the row of the file above:       x 3 1 5   y 3 5 0
    S3, a row with target 4 3 in a file: x 4 4     y 4 3
    """

    prefix_closed = False

    def __init__(self, name: str, group: str | None, file: str | None, bar: float = 0.99) -> None:
        if group is None or file is None:
            raise ValueError(f"{name}: task.group names the group and task.file the file, such as A5 and A5=10.csv")
        super().__init__(name, named_group(group), bar=bar)
        # Where the caller builds models on another device, or on none, the words stay on the CPU.
        with torch.device("cpu"):
            self._words, self._part = read_words(file, self.group), "test"

    def split(self, name: Split) -> "WordProblemFile":
        task = copy.copy(self)
        task._part = name
        return task

    def examples(self, length: int) -> Batch:
        self.check_length(length)
        place = torch.arange(len(self._words.inputs)) % 20
        chosen = {"train": place < 16, "validation": (place == 16) | (place == 17), "fresh": place == 18, "test": place == 19}[self._part]
        return rows(self._words, chosen)

    def check_length(self, length: int) -> None:
        only = self._words.inputs.shape[1]
        if length != only:
            raise ValueError(f"{self.name}: length {length} is not that of the file's words; nearest valid: {only}")
