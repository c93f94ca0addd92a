"""The input projections of a mixer as one matrix product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Projection(nn.Module):
    """Several Linear layers of the same input, named heads, computed as one.

    The numbers of each head are those of separate nn.Linear modules built in the order of `heads`: a seed gives the
    reference's initial weights. A head that is given a list of widths is that many Linear layers side by side.

    forward returns one tensor per head, views of one product, in float32 or wider: what a recurrence computes from a
    rounded bfloat16 number must not be rounded a second time.
    """

    def __init__(self, d_model: int, heads: Mapping[str, int | Sequence[int]]) -> None:
        super().__init__()
        widths = {head: [width] if isinstance(width, int) else list(width) for head, width in heads.items()}
        layers = [nn.Linear(d_model, width) for head in widths.values() for width in head]
        self.widths = {head: sum(parts) for head, parts in widths.items()}
        self.weight = nn.Parameter(torch.cat([layer.weight.detach() for layer in layers]))
        self.bias = nn.Parameter(torch.cat([layer.bias.detach() for layer in layers]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        projected = F.linear(x, self.weight, self.bias)
        wide = torch.promote_types(projected.dtype, torch.float32)
        projected = projected.to(wide)
        # Of a split's gradient autograd makes a copy, also where there is but one part.
        return (projected,) if len(self.widths) == 1 else projected.split(list(self.widths.values()), dim=-1)

    def rows(self, head: str) -> slice:
        """Where a head lies in `weight` and `bias`."""
        names = list(self.widths)
        start = sum(self.widths[name] for name in names[: names.index(head)])
        return slice(start, start + self.widths[head])

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]}, " + ", ".join(f"{head}={width}" for head, width in self.widths.items())
