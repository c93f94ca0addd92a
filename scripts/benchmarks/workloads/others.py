"""torch's own recurrent layers, and two other packages of linear recurrences."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from scripts.benchmarks.workloads import passes


def recurrent(kind: str, batch: int, length: int) -> passes.Work:
    """nn.GRU or nn.LSTM as a layer."""
    built = getattr(nn, kind)(passes.WIDTH, passes.WIDTH, batch_first=True)
    return passes.layer(built, lambda x: built(x)[0], batch, length)


def recurrent_stream(kind: str, batch: int = 1) -> passes.Work:
    """The same on sequences of one token, with its state carried."""
    built = getattr(nn, kind)(passes.WIDTH, passes.WIDTH, batch_first=True)
    return passes.stream(built, torch.randn(batch, 1, passes.WIDTH), None)


def mingru_pytorch(batch: int, length: int) -> passes.Work:
    """minGRU-pytorch's layer: what our `log` computes, without biases and from a state of zero."""
    from minGRU_pytorch import minGRU

    built = minGRU(passes.WIDTH)
    return passes.layer(built, built, batch, length)


def assoc_scan(batch: int, length: int) -> passes.Work:
    """assoc-scan's scan: what our diagonal_scan computes."""
    from assoc_scan import AssocScan

    scan = AssocScan()

    def states(decay: Tensor, drive: Tensor, state: Tensor) -> Tensor:
        return scan(decay, drive, prev=state)

    shape = (batch, length, passes.WIDTH)
    return passes.op(states, [torch.randn(shape).tanh(), torch.randn(shape), torch.randn(batch, passes.WIDTH)])
