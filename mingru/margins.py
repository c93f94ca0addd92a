"""How far a stack's transitions are from those that it stands for, layer by layer."""

import torch
from torch import Tensor, nn

# Sequences that are looked at: a margin is a smallest or a largest number, and more of them say little more.
SEQUENCES = 32


@torch.no_grad()
def margins(stack: nn.Module, inputs: Tensor, delta_t: Tensor | None) -> dict[str, float]:
    """`margin_<layer>_<mixer>` of each layer whose mixer has a margin; what it measures is said there (`Mixer.margin`)."""
    names = {block.mixer: f"margin_{place}_{block.mixer.name}" for place, block in enumerate(stack.blocks)}
    found: dict[str, float] = {}

    def measure(mixer: nn.Module, arguments: tuple) -> None:
        margin = mixer.margin(arguments[0])
        if margin is not None:
            found[names[mixer]] = float(margin)

    handles = [mixer.register_forward_pre_hook(measure) for mixer in names]
    try:
        stack(inputs[:SEQUENCES], None, None if delta_t is None else delta_t[:SEQUENCES])
    finally:
        for handle in handles:
            handle.remove()
    return found
