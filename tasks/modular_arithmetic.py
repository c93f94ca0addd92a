"""Arithmetic modulo n, with and without brackets."""

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.base import Batch, accuracy, check_at_least, check_request, classes, scored_mean, tokens
from tasks.compiled import compiled

# Tokens after the digits 0..modulus-1.
PLUS, MINUS, TIMES, OPEN, CLOSE = range(5)


class ModularArithmetic:
    """An expression of exactly so many tokens; the target, at its end only, is its value modulo n.

    Tokens are the digits 0..n-1, then + - * and, with `brackets`, ( and ). Without brackets digits and operators take turns, * binds
    first, and an even length begins with a minus sign, which belongs to the first product. With brackets every operation has its own:
    an expression is d, -d, (d) or (-d) where it has 1 to 4 tokens, and (left op right) with a left part of uniform length where it has
    more.

    modulus 5:                2 + 3 * 4   x 2 5 3 7 4           y 4     (14 modulo 5)
    modulus 5 with brackets:  (-3*(1))    x 8 6 3 7 8 1 9 9     y 2     (-3 modulo 5)

    Source: the tasks of Delétang et al. 2022, arXiv:2207.02098, as used by Grazzi et al. 2024, arXiv:2411.12537.
    """

    head = "last"

    def __init__(self, name: str, brackets: bool, modulus: int = 5, bar: float = 0.99) -> None:
        if modulus < 2:
            raise ValueError(f"{name}: modulus is 2 or more, got {modulus}")
        self.name, self.brackets, self.modulus = name, brackets, modulus
        self.inputs, self.targets, self.metric = tokens(modulus + (5 if brackets else 3)), classes(modulus), accuracy(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        if self.brackets:
            numbers = torch.randint(2**40, (batch, 2 * length), generator=generator)
            words, values = torch.empty(batch, length, dtype=torch.int64), torch.empty(batch, dtype=torch.int64)
            _nested(numbers.numpy(), self.modulus, words.numpy(), values.numpy())
            return Batch(words, values)
        signed, terms = 1 - length % 2, (length + 1) // 2
        words = torch.full((batch, length), self.modulus + MINUS)
        words[:, signed::2] = torch.randint(self.modulus, (batch, terms), generator=generator)
        words[:, signed + 1 :: 2] = self.modulus + torch.randint(3, (batch, terms - 1), generator=generator)
        values = torch.empty(batch, dtype=torch.int64)
        _read_flat(words.numpy(), self.modulus, values.numpy())
        return Batch(words, values)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        values = _nested_distribution(self.modulus, length) if self.brackets else _flat_distribution(self.modulus, length)
        return torch.tensor([values.max()], dtype=torch.float64)

    def oracle(self, batch: Batch) -> Tensor:
        return torch.tensor([self._parsed(word) for word in batch.inputs.tolist()])

    def _parsed(self, word: list[int]) -> int:
        """The value by recursive descent: a sum of products of digits, negated ones and brackets."""
        place = 0

        def symbol() -> int | None:
            return word[place] - self.modulus if place < len(word) and word[place] >= self.modulus else None

        def factor() -> int:
            nonlocal place
            place += 1
            if word[place - 1] == self.modulus + MINUS:
                return -factor()
            if word[place - 1] != self.modulus + OPEN:
                return word[place - 1]
            value = total()
            place += 1
            return value

        def term() -> int:
            nonlocal place
            value = factor()
            while symbol() == TIMES:
                place += 1
                value *= factor()
            return value

        def total() -> int:
            nonlocal place
            value = term()
            while symbol() in (PLUS, MINUS):
                place += 1
                value += term() if word[place - 1] == self.modulus + PLUS else -term()
            return value

        return total() % self.modulus


def _summed(together: np.ndarray, result: np.ndarray) -> np.ndarray:
    """The distribution of a result of two values, from their joint one."""
    return np.bincount(result.ravel(), together.ravel())


def _flat_distribution(modulus: int, length: int) -> np.ndarray:
    """The probability of each value, from that of (sum so far, current product); signs make no difference to a uniform digit."""
    digits = np.arange(modulus)
    total, product, digit = np.meshgrid(digits, digits, digits, indexing="ij")
    before = (total * modulus + product).ravel()
    moves = np.zeros((modulus**2, modulus**2))
    for after, weight in ((total * modulus + product * digit % modulus, 1), ((total + product) % modulus * modulus + digit, 2)):
        np.add.at(moves, (before, after.ravel()), weight / (3 * modulus))
    together = np.repeat(np.eye(1, modulus)[0], modulus) / modulus
    for _ in range((length - 1) // 2):
        together = together @ moves
    return _summed(together, (digits[:, None] + digits) % modulus)


def _nested_distribution(modulus: int, length: int) -> np.ndarray:
    """The probability of each value: uniform up to 4 tokens, then of the three operations on parts of every pair of lengths."""
    digits = np.arange(modulus)
    left, right = digits[:, None], digits
    by_length = np.full((length + 1, modulus), 1 / modulus)
    for n in range(5, length + 1):
        together = by_length[1 : n - 3].T @ by_length[n - 4 : 0 : -1] / (n - 4)
        results = ((left + right) % modulus, (left - right) % modulus, (left * right) % modulus)
        by_length[n] = sum(_summed(together, result) for result in results) / 3
    return by_length[length]


@compiled
def _read_flat(words, modulus, values):  # type: ignore[no-untyped-def]
    """Values of expressions without brackets: the sum so far and the current product, left to right."""
    for b in range(len(words)):
        # A sign at the very beginning ends a product of nothing.
        total, product = 0, 1 if words[b, 0] < modulus else 0
        for t in range(words.shape[1]):
            token = words[b, t]
            if token < modulus:
                product = product * token % modulus
            elif token != modulus + 2:
                total, product = total + product, 1 if token == modulus else -1
        values[b] = (total + product) % modulus


@compiled
def _nested(numbers, modulus, words, values):  # type: ignore[no-untyped-def]
    """Write bracketed expressions and their values; a part is its first place and length, its children come after it in the list."""
    length = words.shape[1]
    start, size, child, result = np.empty((4, length), np.int64)
    plus, minus, opening, closing = modulus, modulus + 1, modulus + 3, modulus + 4
    for b in range(len(words)):
        word, parts = words[b], 1
        start[0], size[0] = 0, length
        for i in range(length):
            if i == parts:
                break
            first, last, n = start[i], start[i] + size[i] - 1, size[i]
            if n < 5:
                digit = numbers[b, 2 * i] % modulus
                word[last - (n > 2)] = digit
                if n > 2:
                    word[first], word[last] = opening, closing
                if n % 2 == 0:
                    word[first + (n > 2)] = minus
                result[i], child[i] = (-digit if n % 2 == 0 else digit) % modulus, 0
                continue
            left = 1 + numbers[b, 2 * i] % (n - 4)
            word[first], word[last] = opening, closing
            word[first + 1 + left] = plus + numbers[b, 2 * i + 1] % 3
            child[i] = parts
            start[parts], size[parts] = first + 1, left
            start[parts + 1], size[parts + 1] = first + 2 + left, n - left - 3
            parts += 2
        for i in range(parts - 1, -1, -1):
            if child[i]:
                x, y, operator = result[child[i]], result[child[i] + 1], word[start[child[i] + 1] - 1]
                result[i] = (x + y if operator == plus else x - y if operator == minus else x * y) % modulus
        values[b] = result[0]
