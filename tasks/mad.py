"""Three synthetic tasks of mechanistic architecture design: recall, selective copying, compression."""

import copy

import torch
from torch import Generator, Tensor

from tasks.base import IGNORE, Batch, Split, accuracy, check_at_least, check_request, classes, scored_mean, tokens


class InContextRecall:
    """Key and value take turns, and a key has the same value throughout; the value of a key seen before is wanted.

    Keys are 0..V/2-1, values V/2..V-1. The key of the last pair is one of those before it. Training scores every next token; elsewhere only
    the values that can be known are scored, at their keys. (The source cuts the last token off; here it stays, with nothing to predict.)

    n_tokens 8, length 8:  x 1 6 3 4 1 6 3 4   y . . . . 6 . 4 .   in training  y 6 3 4 1 6 3 4 .
    n_tokens 4, length 4:  x 0 2 0 2           y . . 2 .           in training  y 2 0 2 .           (. is not scored)

    Source: MAD, Poli et al. 2024, arXiv:2403.17844, with multiple queries and without noise.
    """

    head = "per_position"

    def __init__(self, name: str, n_tokens: int = 16, bar: float = 0.99) -> None:
        if n_tokens < 2 or n_tokens % 2:
            raise ValueError(f"{name}: n_tokens is even and 2 or more, got {n_tokens}")
        self.name, self.n_tokens, self.in_training = name, n_tokens, False
        self.inputs, self.targets, self.metric = tokens(n_tokens), classes(n_tokens), accuracy(bar)

    def split(self, name: Split) -> "InContextRecall":
        task = copy.copy(self)
        task.in_training = name == "train"
        return task

    def check_length(self, length: int) -> None:
        if length < 4 or length % 2:
            nearest = f"{length - 1} and {length + 1}" if length > 4 else "4"
            raise ValueError(f"{self.name}: length {length} is not an even number from 4 on; nearest valid: {nearest}")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        half, pairs = self.n_tokens // 2, length // 2
        keys = torch.randint(half, (batch, pairs), generator=generator)
        value_of = torch.randint(half, (batch, half), generator=generator) + half
        repeated = torch.randint(pairs - 1, (batch, 1), generator=generator)
        keys[:, -1:] = keys.gather(1, repeated)
        inputs = torch.stack([keys, value_of.gather(1, keys)], 2).flatten(1)
        following = inputs.roll(-1, 1)
        following[:, -1] = IGNORE
        return Batch(inputs, following if self.in_training else torch.where(_seen_before(inputs), following, IGNORE))

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        """Of what is scored in evaluation."""
        self.check_length(length)
        chance = torch.full((length,), torch.nan, dtype=torch.float64)
        chance[2::2] = 2 / self.n_tokens
        return chance

    def oracle(self, batch: Batch) -> Tensor:
        """The value that followed the same key before; in training, where other tokens are scored too, those are left at -100."""
        answers = torch.full_like(batch.inputs, IGNORE)
        for row, word in enumerate(batch.inputs.tolist()):
            value_of: dict[int, int] = {}
            for t in range(0, len(word), 2):
                answers[row, t] = value_of.get(word[t], IGNORE)
                value_of[word[t]] = word[t + 1]
        return answers


def _seen_before(inputs: Tensor) -> Tensor:
    """Which positions hold a key that an earlier pair had."""
    keys = inputs[:, ::2]
    place = torch.arange(keys.shape[1]).expand_as(keys)
    first = torch.full((len(keys), int(keys.max()) + 1), keys.shape[1]).scatter_reduce(1, keys, place, "amin")
    seen = torch.zeros_like(inputs, dtype=torch.bool)
    seen[:, ::2] = place > first.gather(1, keys)
    return seen


class SelectiveCopying:
    """Tokens among blanks, then a sign to copy, then blanks to write the tokens into, in order.

    Token V-1 is the sign, V-2 the blank. There are `n_copied` tokens to copy, and every blank stands before a token drawn uniformly.

    n_tokens 8, n_copied 2, length 8:  x 6 3 6 6 0 7 6 6   y . . . . . . 3 0
    n_tokens 4, n_copied 1, length 5:  x 2 2 1 3 2         y . . . . 1         (. is not scored)

    Source: MAD, Poli et al. 2024, arXiv:2403.17844.
    """

    head = "per_position"

    def __init__(self, name: str, n_tokens: int = 16, n_copied: int = 16, bar: float = 0.99) -> None:
        if n_tokens < 3 or n_copied < 1:
            raise ValueError(f"{name}: n_tokens is 3 or more and n_copied 1 or more, got {n_tokens} and {n_copied}")
        self.name, self.n_tokens, self.n_copied = name, n_tokens, n_copied
        self.inputs, self.targets, self.metric = tokens(n_tokens), classes(n_tokens), accuracy(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length, 2 * self.n_copied + 1)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        n, sign, blank = self.n_copied, self.n_tokens - 1, self.n_tokens - 2
        copied = torch.randint(blank, (batch, n), generator=generator)
        before = torch.randint(n, (batch, length - 2 * n - 1), generator=generator)
        blanks = torch.zeros(batch, n, dtype=torch.int64).scatter_add_(1, before, torch.ones_like(before))
        inputs = torch.full((batch, length), blank)
        inputs.scatter_(1, torch.arange(n) + blanks.cumsum(1), copied)
        inputs[:, length - n - 1] = sign
        targets = torch.full_like(inputs, IGNORE)
        targets[:, length - n :] = copied
        return Batch(inputs, targets)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        chance = torch.full((length,), torch.nan, dtype=torch.float64)
        chance[length - self.n_copied :] = 1 / (self.n_tokens - 2)
        return chance

    def oracle(self, batch: Batch) -> Tensor:
        answers = torch.full_like(batch.inputs, IGNORE)
        written = batch.inputs[batch.inputs < self.n_tokens - 2]
        answers[:, -self.n_copied :] = written.reshape(-1, self.n_copied)
        return answers


class Compression:
    """A random word and an end sign; the whole of it is to be written again from what the model holds at its end.

    Tokens are uniform over 0..V-2, and V-1 is the sign, which comes last.

    n_tokens 8, length 5:  x 2 0 6 6 7   y 2 0 6 6 7
    n_tokens 3, length 3:  x 1 0 2       y 1 0 2

    Source: MAD, Poli et al. 2024, arXiv:2403.17844.
    """

    head = "autoencode"

    def __init__(self, name: str, n_tokens: int = 16, bar: float = 0.99) -> None:
        if n_tokens < 2:
            raise ValueError(f"{name}: n_tokens is 2 or more, got {n_tokens}")
        self.name, self.n_tokens = name, n_tokens
        self.inputs, self.targets, self.metric = tokens(n_tokens), classes(n_tokens), accuracy(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length, 2)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        inputs = torch.randint(self.n_tokens - 1, (batch, length), generator=generator)
        inputs[:, -1] = self.n_tokens - 1
        return Batch(inputs, inputs.clone())

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    def constant(self, length: int) -> float:
        self.check_length(length)
        return max(1, (length - 1) / (self.n_tokens - 1)) / length

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        chance = torch.full((length,), 1 / (self.n_tokens - 1), dtype=torch.float64)
        chance[-1] = 1
        return chance

    def oracle(self, batch: Batch) -> Tensor:
        return batch.inputs
