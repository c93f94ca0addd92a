"""Where in an element a token stands and what the last tokens were: all that a held extractor tells."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Situations:
    """Those of `n_tokens` tokens of which `period` spell an element, in the order of a HardenedExtractor's outputs.

    A situation is (place, the last `period` tokens); the node before it, (place, the last period - 1), is what an extractor carries.
    Words of `period` tokens are numbered by them, the oldest most significant.
    """

    n_tokens: int
    period: int

    @property
    def words(self) -> int:
        return self.n_tokens**self.period

    @property
    def nodes(self) -> int:
        return self.period * self.words // self.n_tokens

    def __len__(self) -> int:
        return self.period * self.words

    @property
    def place(self) -> Tensor:
        return torch.arange(len(self)) // self.words

    @property
    def word(self) -> Tensor:
        return torch.arange(len(self)) % self.words

    @property
    def before(self) -> Tensor:
        """The node in which each situation arises."""
        return torch.arange(len(self)) // self.n_tokens

    @property
    def after(self) -> Tensor:
        """The node that follows each situation."""
        past = self.words // self.n_tokens
        return (self.place + 1) % self.period * past + self.word % past

    @property
    def completes(self) -> Tensor:
        """Whether an element ends there: it is spelt by the situation's word."""
        return self.place == self.period - 1

    def products(self, elements: Tensor, table: Tensor) -> Tensor:
        """(situations, n): the product after each situation, where it was h before; elements[w] is what word w spells."""
        unchanged = torch.arange(len(table)).expand(len(self), -1)
        return torch.where(self.completes.unsqueeze(1), table[elements[self.word]], unchanged)
