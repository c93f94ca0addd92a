"""How far a stack's transitions are from those that it stands for, layer by layer."""

import torch
from torch import Tensor, nn

# Sequences that are looked at: a margin is a smallest or a largest number, and more of them say little more.
SEQUENCES = 32


@torch.no_grad()
def margins(stack: nn.Module, inputs: Tensor, delta_t: Tensor | None) -> dict[str, float]:
    """`margin_<layer>_<mixer>` of each layer whose mixer has a margin; what it measures is said there (`Mixer.margin`)."""
    measured = {f"margin_{place}_{block.mixer.name}": block.mixer for place, block in enumerate(stack.blocks) if block.mixer.has_margin}
    if not measured:
        return {}
    found: dict[str, float] = {}

    def measure(name: str):
        def hook(mixer: nn.Module, arguments: tuple) -> None:
            found[name] = float(mixer.margin(arguments[0]))

        return hook

    handles = [mixer.register_forward_pre_hook(measure(name)) for name, mixer in measured.items()]
    try:
        stack(inputs[:SEQUENCES], None, None if delta_t is None else delta_t[:SEQUENCES])
    finally:
        for handle in handles:
            handle.remove()
    return found
