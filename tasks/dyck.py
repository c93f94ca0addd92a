"""Nested brackets of bounded depth."""

import math

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.base import Batch, accuracy, check_at_least, check_request, classes, scored_mean, tokens
from tasks.compiled import compiled


class Dyck:
    """The first so many tokens of well nested brackets; the target is the kind of the innermost open one, n_kinds where none is open.

    Token k opens a bracket of kind k, token n_kinds + k closes it. Each token opens one, of a random kind, with probability 1/2; at depth 0
    always, at `depth` never. Knowing the innermost open bracket is knowing which closing one may come next.

    n_kinds 2:  x 0 1 3 2 1 0   y 0 1 0 2 1 0     (as brackets: ( [ ] ) [ ( )
    n_kinds 1:  x 0 0 1 1 0     y 0 0 0 1 0       (as brackets: ( ( ) ) ( )

    Source: the language Dyck-(k, m) of Hewitt et al. 2020, arXiv:2010.07515, scored at every position rather than by next tokens.
    """

    head = "per_position"
    prefix_closed = True

    def __init__(self, name: str, n_kinds: int = 4, depth: int = 5, bar: float = 0.99) -> None:
        if n_kinds < 1 or depth < 1:
            raise ValueError(f"{name}: n_kinds and depth are 1 or more, got {n_kinds} and {depth}")
        self.name, self.n_kinds, self.depth = name, n_kinds, depth
        self.inputs, self.targets, self.metric = tokens(2 * n_kinds), classes(n_kinds + 1), accuracy(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        kinds = torch.randint(self.n_kinds, (batch, length), generator=generator)
        opens = torch.randint(2, (batch, length), generator=generator)
        words, innermost = torch.empty_like(kinds), torch.empty_like(kinds)
        _nest(kinds.numpy(), opens.numpy(), self.n_kinds, self.depth, words.numpy(), innermost.numpy())
        return Batch(words, innermost)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    def constant(self, length: int) -> float:
        empty = math.fsum(self._empty(length)) / length
        return max(empty, (1 - empty) / self.n_kinds)

    def position_chance(self, length: int) -> Tensor:
        return torch.tensor([max(empty, (1 - empty) / self.n_kinds) for empty in self._empty(length)], dtype=torch.float64)

    def oracle(self, batch: Batch) -> Tensor:
        answers = []
        for word in batch.inputs.tolist():
            stack: list[int] = []
            row = []
            for token in word:
                if token < self.n_kinds:
                    stack.append(token)
                elif stack.pop() != token - self.n_kinds:
                    raise ValueError(f"{self.name}: {word} is not well nested")
                row.append(stack[-1] if stack else self.n_kinds)
            answers.append(row)
        return torch.tensor(answers)

    def _empty(self, length: int) -> list[float]:
        """The probability of depth 0 after each token, from the walk of the depth."""
        self.check_length(length)
        walk = np.zeros((self.depth + 1, self.depth + 1))
        for depth in range(self.depth + 1):
            up = 1.0 if depth == 0 else 0.0 if depth == self.depth else 0.5
            walk[depth, min(depth + 1, self.depth)] += up
            walk[depth, max(depth - 1, 0)] += 1 - up
        now, empty = np.eye(1, self.depth + 1)[0], []
        for _ in range(length):
            now = now @ walk
            empty.append(float(now[0]))
        return empty


@compiled
def _nest(kinds, opens, n_kinds, deepest, words, innermost):  # type: ignore[no-untyped-def]
    stack = np.empty(deepest + 1, np.int64)
    stack[0] = n_kinds
    for b in range(len(kinds)):
        depth = 0
        for t in range(kinds.shape[1]):
            if depth == 0 or (depth < deepest and opens[b, t]):
                depth += 1
                stack[depth] = kinds[b, t]
                words[b, t] = kinds[b, t]
            else:
                words[b, t] = n_kinds + stack[depth]
                depth -= 1
            innermost[b, t] = stack[depth]
