"""Pictures read one pixel at a time, in an order that scatters neighbours."""

import copy
import gzip
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.algebra.files import PROJECT
from tasks.base import Batch, Split, accuracy, check_request, classes, scored_mean, vectors

# The minGRU ladder's permutation of 784 pixels.
LADDER_SEED = 20260719


class PixelSequences:
    """A picture's pixels in a fixed order, each a number in [0, 1]; the target, at the end only, is its class.

    Every picture belongs to one split. `validation` selects, `fresh` re-measures: the halves of what is usually called validation data. A
    round of training goes through all pictures. The oracle looks the picture up.

    digits:               x[0] pixel 0, x[1] pixel 32, x[2] pixel 16, x[3] pixel 48 ...     y the digit
    psmnist_bitreversed:  x[0] pixel 0, x[1] pixel 512, x[2] pixel 256, x[3] pixel 768 ...  y the digit
    """

    head = "last"

    def __init__(
        self, name: str, pictures: Tensor, labels: Tensor, order: Tensor, splits: dict[str, Tensor], white: int, bar: float
    ) -> None:
        self.name, self.order, self.splits, self.white = name, order, splits, white
        self._pictures, self._labels, self._part = pictures.flatten(1)[:, order], labels, "test"
        self.inputs, self.targets, self.metric = vectors(1), classes(10), accuracy(bar)

    def split(self, name: Split) -> "PixelSequences":
        task = copy.copy(self)
        task._part = name
        return task

    def examples(self, length: int) -> Batch:
        """All pictures of the split."""
        self.check_length(length)
        return self._shown(self.splits[self._part])

    def check_length(self, length: int) -> None:
        if length != len(self.order):
            raise ValueError(
                f"{self.name}: length {length} is not the {len(self.order)} pixels of a picture; nearest valid: {len(self.order)}"
            )

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        """Pictures of the split, drawn with replacement."""
        check_request(self, batch, length)
        numbers = self.splits[self._part]
        return self._shown(numbers[torch.randint(len(numbers), (batch,), generator=generator)])

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        """The share of the commonest class in the test pictures."""
        self.check_length(length)
        labels = self._labels[self.splits["test"]]
        return (labels.bincount().max() / len(labels)).double()[None]

    def oracle(self, batch: Batch) -> Tensor:
        known = {picture.numpy().tobytes(): int(label) for picture, label in zip(self._pictures, self._labels, strict=True)}
        seen = (batch.inputs[..., 0] * self.white).round().to(torch.uint8)
        return torch.tensor([known[picture.numpy().tobytes()] for picture in seen])

    def _shown(self, numbers: Tensor) -> Batch:
        return Batch((self._pictures[numbers].float() / self.white)[..., None], self._labels[numbers])


def psmnist(name: str, folder: str | None, bit_reversed: bool = False, bar: float = 0.9) -> PixelSequences:
    """MNIST from the four IDX files in `folder`, packed with gzip or not: 784 pixels in a random or in bit-reversed order.

    The random order and the split are the minGRU ladder's: torch's permutation of seed 20260719; 50,000 pictures to train on, 10,000 to
    validate, 10,000 to test. Bit-reversed, as in S4 and S5, the validation pictures are a random tenth of 60,000 (torch's permutation of
    seed 42).
    """
    if folder is None:
        raise ValueError(f"{name}: task.folder names the folder with the four IDX files of MNIST")
    # Where the caller builds models on another device, or on none, the pictures stay on the CPU.
    with torch.device("cpu"):
        parts = [_read_idx(name, folder, f"{part}-{kind}") for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
        pictures, labels = torch.cat(parts[::2]), torch.cat(parts[1::2]).long()
        if len(pictures) != len(labels) or pictures.shape[1:] != (28, 28):
            raise ValueError(
                f"{name}: {folder} holds {len(pictures)} pictures of {tuple(pictures.shape[1:])} pixels and {len(labels)} labels"
            )
        train = len(parts[0])
        shuffled = torch.randperm(train, generator=Generator().manual_seed(42)) if bit_reversed else torch.arange(train)
        kept = train - train // 10 if bit_reversed else train - train // 6
        order = bit_reversal(784) if bit_reversed else torch.randperm(784, generator=Generator().manual_seed(LADDER_SEED))
        return PixelSequences(name, pictures, labels, order, _splits(shuffled, kept, torch.arange(train, len(pictures))), 255, bar)


def digits(name: str, bar: float = 0.9) -> PixelSequences:
    """The 1,797 digits of 8 x 8 pixels that come with scikit-learn, in bit-reversed order: the small stand-in for psmnist_bitreversed.

    Of every ten digits in their order seven are to train on, one each for validation, re-measurement and test.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ValueError(f"{name}: the pictures come with scikit-learn: pip install scikit-learn") from None
    with torch.device("cpu"):
        data = load_digits()
        numbers = torch.arange(len(data.target))
        parts = {"validation": 7, "fresh": 8, "test": 9}
        splits = {"train": numbers[numbers % 10 < 7]} | {part: numbers[numbers % 10 == k] for part, k in parts.items()}
        pictures, labels = torch.from_numpy(data.images.astype(np.uint8)), torch.from_numpy(data.target).long()
        return PixelSequences(name, pictures, labels, bit_reversal(64), splits, 16, bar)


def bit_reversal(count: int) -> Tensor:
    """The numbers below `count` by their bits read backwards, in as many bits as the largest needs: 0 512 256 768 ... for 784."""
    bits = (count - 1).bit_length()
    reversed_bits = (int(f"{i:0{bits}b}"[::-1], 2) for i in range(2**bits))
    return torch.tensor([i for i in reversed_bits if i < count])


def _splits(shuffled: Tensor, train: int, test: Tensor) -> dict[str, Tensor]:
    validation = shuffled[train:]
    half = len(validation) // 2
    return {"train": shuffled[:train], "validation": validation[:half], "fresh": validation[half:], "test": test}


def _read_idx(name: str, folder: str, stem: str) -> Tensor:
    """The bytes of an IDX file: two zero bytes, the type 8, the number of axes, their lengths in 4 bytes each, then the data."""
    base = PROJECT / Path(folder).expanduser() / f"{stem}-ubyte"
    file = next((f for f in (base, base.with_name(f"{base.name}.gz")) if f.is_file()), None)
    if file is None:
        raise ValueError(f"{name}: {base}[.gz] is missing; task.folder names the folder with the four IDX files of MNIST")
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    axes = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    if not axes or len(content) != 4 + 4 * axes + int(np.prod(shape)):
        raise ValueError(f"{name}: {file} is not an IDX file of bytes")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8, offset=4 + 4 * axes).view(shape)
