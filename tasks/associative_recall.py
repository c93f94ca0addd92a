"""Multi-query associative recall: pairs of a key and a value, then questions for the value of a key."""

import torch
from torch import Generator, Tensor

from tasks.base import IGNORE, Batch, accuracy, check_request, classes, scored_mean, tokens


class Mqar:
    """Pairs first, then filler, then one question per pair; the answer is wanted at the question.

        key value key value ...  filler ...  key key ...

    Keys are 0..n_keys-1, values n_keys..2*n_keys-1, and filler is drawn from the values. A sequence of length T has `pairs` pairs; where
    that is null, one for every `tokens_per_pair` tokens, up to n_keys.

    n_keys 4, pairs 2:  x 3 5 0 6 4 7 0 3   y . . . . . . 6 5
    n_keys 4, pairs 1:  x 2 7 4 6 2         y . . . . 7         (. is not scored)

    Source: the minGRU ladder's MQAR, whose length 64 has 8 pairs and length 256 has 32 (or, with pairs=16, 16).
    """

    head = "per_position"

    def __init__(self, name: str, n_keys: int = 32, tokens_per_pair: int = 8, pairs: int | None = None, bar: float = 0.99) -> None:
        if n_keys < 1 or tokens_per_pair < 3 or (pairs is not None and not 1 <= pairs <= n_keys):
            raise ValueError(
                f"{name}: n_keys is 1 or more, tokens_per_pair 3 or more and pairs from 1 to n_keys or null, "
                f"got {n_keys}, {tokens_per_pair} and {pairs}"
            )
        self.name, self.n_keys, self.tokens_per_pair, self.pairs = name, n_keys, tokens_per_pair, pairs
        self.inputs, self.targets, self.metric = tokens(2 * n_keys), classes(2 * n_keys), accuracy(bar)

    def n_pairs(self, length: int) -> int:
        return self.pairs or min(self.n_keys, length // self.tokens_per_pair)

    def check_length(self, length: int) -> None:
        shortest = 3 * self.pairs if self.pairs else self.tokens_per_pair
        if length < shortest:
            raise ValueError(f"{self.name}: length {length} is less than the {shortest} of its pairs; nearest valid: {shortest}")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        pairs = self.n_pairs(length)
        keys = torch.rand(batch, self.n_keys, generator=generator).topk(pairs).indices
        values = torch.randint(self.n_keys, (batch, pairs), generator=generator) + self.n_keys
        filler = torch.randint(self.n_keys, (batch, length - 3 * pairs), generator=generator) + self.n_keys
        order = torch.rand(batch, pairs, generator=generator).argsort(1)
        inputs = torch.cat([torch.stack([keys, values], 2).flatten(1), filler, keys.gather(1, order)], 1)
        targets = torch.full_like(inputs, IGNORE)
        targets[:, length - pairs :] = values.gather(1, order)
        return Batch(inputs, targets)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        chance = torch.full((length,), torch.nan, dtype=torch.float64)
        chance[length - self.n_pairs(length) :] = 1 / self.n_keys
        return chance

    def oracle(self, batch: Batch) -> Tensor:
        pairs = self.n_pairs(batch.inputs.shape[1])
        return recalled(batch.inputs, batch.inputs[:, : 2 * pairs], batch.targets)


class ZoologyMqar:
    """Pairs first, `n_passes` times over; after them one question per pair, soon after the pairs more often than late.

        key value key value ...  0 0 key 0 0 0 key 0 ...

    Token 0 is filler, keys are 1..V/2-1, values V/2..V-1, each drawn without replacement. The question for a pair stands `2 * gap` tokens
    after the pairs, with gaps drawn without replacement with probabilities proportional to (gap + 1)^(power - 1). With
    `random_non_queries` every filler is a random token instead.

    n_tokens 8, pairs 2:  x 3 5 1 6 1 0 3 0   y . . . . 6 . 5 .
    n_tokens 8, pairs 1:  x 2 5 0 0 2 0       y . . . . 5 .         (. is not scored)

    Source: Zoology, Arora et al. 2023, arXiv:2312.04927, where 64, 128 and 256 tokens have 4, 8 and 16 pairs of a vocabulary of 8,192.
    Unlike there a sequence may be longer than the vocabulary, and then has as many pairs as there are keys.
    """

    head = "per_position"

    def __init__(
        self,
        name: str,
        n_tokens: int = 256,
        tokens_per_pair: int = 16,
        pairs: int | None = None,
        n_passes: int = 1,
        power: float = 0.01,
        random_non_queries: bool = False,
        bar: float = 0.99,
    ) -> None:
        if n_tokens < 4 or n_tokens % 2 or n_passes < 1 or not 0 < power <= 1:
            raise ValueError(
                f"{name}: n_tokens is even and 4 or more, n_passes 1 or more and power in (0, 1], got {n_tokens}, {n_passes} and {power}"
            )
        if tokens_per_pair < 2 * n_passes + 2 or (pairs is not None and not 1 <= pairs < n_tokens // 2):
            raise ValueError(
                f"{name}: tokens_per_pair is {2 * n_passes + 2} or more and pairs from 1 to {n_tokens // 2 - 1} or null, "
                f"got {tokens_per_pair} and {pairs}"
            )
        self.name, self.n_tokens, self.tokens_per_pair, self.pairs = name, n_tokens, tokens_per_pair, pairs
        self.n_passes, self.power, self.random_non_queries = n_passes, power, random_non_queries
        self.inputs, self.targets, self.metric = tokens(n_tokens), classes(n_tokens), accuracy(bar)

    def n_pairs(self, length: int) -> int:
        return self.pairs or min(self.n_tokens // 2 - 1, length // self.tokens_per_pair)

    def check_length(self, length: int) -> None:
        shortest = self.pairs * (2 * self.n_passes + 2) if self.pairs else self.tokens_per_pair + self.tokens_per_pair % 2
        if length >= shortest and length % 2 == 0:
            return
        nearest = f"{length - 1} and {length + 1}" if length > shortest else f"{shortest}"
        fault = "is odd" if length > shortest else f"is less than the {shortest} of its pairs"
        raise ValueError(f"{self.name}: length {length} {fault}; nearest valid: {nearest}")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        pairs, half = self.n_pairs(length), self.n_tokens // 2
        keys = torch.rand(batch, half - 1, generator=generator).topk(pairs).indices + 1
        values = torch.rand(batch, half, generator=generator).topk(pairs).indices + half
        context = torch.stack([keys, values], 2).flatten(1).repeat(1, self.n_passes)
        spaces = (length - context.shape[1]) // 2
        # The first to ring of independent exponential clocks: drawing one after the other without replacement.
        rates = torch.arange(1, spaces + 1, dtype=torch.float64) ** (self.power - 1)
        waits = torch.rand(batch, spaces, generator=generator, dtype=torch.float64).log().neg() / rates
        questions = context.shape[1] + 2 * waits.topk(pairs, largest=False).indices
        inputs = torch.zeros(batch, length, dtype=torch.int64)
        inputs[:, : context.shape[1]] = context
        inputs.scatter_(1, questions, keys)
        targets = torch.full_like(inputs, IGNORE).scatter_(1, questions, values)
        if self.random_non_queries:
            inputs = torch.where(inputs == 0, torch.randint(self.n_tokens, inputs.shape, generator=generator), inputs)
        return Batch(inputs, targets)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        chance = torch.full((length,), torch.nan, dtype=torch.float64)
        chance[2 * self.n_pairs(length) * self.n_passes :: 2] = 2 / self.n_tokens
        return chance

    def oracle(self, batch: Batch) -> Tensor:
        pairs = self.n_pairs(batch.inputs.shape[1])
        return recalled(batch.inputs, batch.inputs[:, : 2 * pairs], batch.targets)


def recalled(inputs: Tensor, context: Tensor, targets: Tensor) -> Tensor:
    """The value that the context of alternating keys and values gives for the token at every scored position."""
    matches = inputs[:, :, None] == context[:, None, ::2]
    values = context[:, 1::2].gather(1, matches.int().argmax(2))
    return torch.where(targets == IGNORE, IGNORE, values)
