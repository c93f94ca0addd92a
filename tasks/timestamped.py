"""Parity with a clock: gaps that say where one session ends and the next begins."""

import torch
from torch import Generator, Tensor

from tasks.base import Batch, accuracy, check_at_least, check_request, classes, scored_mean, tokens

# Gaps within a session are at most 1, those between sessions at least 50.
BETWEEN = 10


class TimestampedParity:
    """Bits with time gaps; the target is the parity of the bits so far, or with `resets` of those since the last long gap.

    A gap is uniform on (0.1, 1), or with probability 0.05 on (50, 100), which ends a session; the gap before the first bit is 0.

    session_parity:       x 1 0 1 0 1   gap 0 0.3 61 0.8 0.2   y 1 1 1 1 0
    parity_timestamped:   x 1 0 1 0 1   gap 0 0.3 61 0.8 0.2   y 1 1 0 0 1
    (the third bit starts a session)

    Source: the minGRU ladder's session-parity and parity-timestamped.
    """

    head = "per_position"
    prefix_closed = True
    timed = True

    def __init__(self, name: str, resets: bool, bar: float = 0.99) -> None:
        self.name, self.resets = name, resets
        self.inputs, self.targets, self.metric = tokens(2), classes(2), accuracy(bar)

    def check_length(self, length: int) -> None:
        check_at_least(self.name, length)

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        bits = torch.randint(2, (batch, length), generator=generator)
        ends = torch.rand(batch, length, generator=generator) < 0.05
        within = 0.1 + 0.9 * torch.rand(batch, length, generator=generator)
        between = 50 + 50 * torch.rand(batch, length, generator=generator)
        gaps = torch.where(ends, between, within)
        gaps[:, 0] = 0
        ends[:, 0] = True
        parity = bits.cumsum(1)
        if self.resets:
            # Ones before the session: the count so far at its first bit, less that bit.
            starts = torch.where(ends, torch.arange(length), 0).cummax(1).values
            parity = parity - (parity - bits).gather(1, starts)
        return Batch(bits, parity % 2, gaps)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        self.check_length(length)
        return torch.full((length,), 0.5, dtype=torch.float64)

    def oracle(self, batch: Batch) -> Tensor:
        state = torch.zeros_like(batch.inputs[:, 0])
        states = []
        for bit, gap in zip(batch.inputs.unbind(1), batch.delta_t.unbind(1), strict=True):
            state = torch.where(gap > BETWEEN, bit, state ^ bit) if self.resets else state ^ bit
            states.append(state)
        return torch.stack(states, 1)
