"""The whole network: embed, blocks, norm, head."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mingru.block import Block
from mingru.mixers.base import Mixer, autocast_converts


class Stack(nn.Module):
    """Tokens (B, T) or vectors (B, T, d_input) to logits (B, T, n_outputs), one mixer per block.

    `layers` are mixers still to be called with d_model, first layer first. head="last" gives the logits (B, n_outputs)
    of the last position alone. The state is a list with one tensor per layer; without a state the first token follows
    init_state. After a bare last layer there is no final norm.

    Parts are built in the order in which data passes them, so that a seed gives the reference's initial weights.
    """

    def __init__(
        self,
        layers: Sequence[Callable[..., Mixer]],
        d_model: int,
        n_outputs: int,
        n_tokens: int | None = None,
        d_input: int | None = None,
        head: str = "per_position",
        mlp_expansion: int = 4,
    ) -> None:
        super().__init__()
        if not layers:
            raise ValueError("stack: layers must name at least one mixer, got none")
        if head not in ("per_position", "last"):
            raise ValueError(f"stack: head must be per_position or last, got {head!r}")
        self.embed = embedding(n_tokens, d_input, d_model)
        self.blocks = nn.ModuleList(Block(layer, d_model, mlp_expansion) for layer in layers)
        self.norm = nn.Identity() if self.blocks[-1].mixer.bare else nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, n_outputs)
        self.last_only = head == "last"

    @property
    def state_size(self) -> int:
        """Elements carried per sequence from one token to the next, all layers together."""
        return sum(block.mixer.state_size for block in self.blocks)

    def init_state(self, batch: int) -> list[Tensor]:
        return [block.mixer.init_state(batch) for block in self.blocks]

    def forward(self, inputs: Tensor, state: Sequence[Tensor] | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        x, state = self._through(self.blocks, self._embedded(inputs, ("B", "T")), state, delta_t)
        if self.last_only:
            x = x[:, -1]
        return self.head(self.norm(x)), state

    def step(self, inputs_t: Tensor, state: Sequence[Tensor] | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """One token of `forward`: (B,) or (B, d_input) -> logits (B, n_outputs), with the same state."""
        x, state = self._through([block.step for block in self.blocks], self._embedded(inputs_t, ("B",)), state, delta_t)
        return self.head(self.norm(x)), state

    def _through(
        self, layers: Sequence[Callable] | nn.ModuleList, x: Tensor, state: Sequence[Tensor] | None, delta_t: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        if state is not None and len(state) != len(layers):
            raise ValueError(f"stack: state must hold one tensor per layer, {len(layers)}, got {len(state)}")
        states = []
        for layer, before in zip(layers, state or [None] * len(layers), strict=True):
            x, after = layer(x, before, delta_t)
            states.append(after)
        return x, states

    def _embedded(self, inputs: Tensor, axes: tuple[str, ...]) -> Tensor:
        check_inputs(inputs, self.embed, axes)
        try:
            return self.embed(inputs)
        except IndexError:
            span = f"{int(inputs.min())} to {int(inputs.max())}"
            raise ValueError(f"stack: tokens must lie in 0 to {self.embed.num_embeddings - 1}, got {span}") from None


def check_inputs(inputs: Tensor, embed: nn.Embedding | nn.Linear, axes: tuple[str, ...]) -> None:
    tokens = isinstance(embed, nn.Embedding)
    width = () if tokens else (embed.in_features,)
    shape = tuple(inputs.shape)
    if len(shape) != len(axes + width) or shape[len(axes) :] != width or 0 in shape:
        wanted = ", ".join((*axes, *map(str, width)))
        raise ValueError(f"stack: inputs must have shape ({wanted}), each at least 1, got {shape}")
    if tokens and inputs.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"stack: tokens must be int64 or int32, got {inputs.dtype}")
    if not tokens and inputs.dtype != embed.weight.dtype and not autocast_converts(inputs, embed.weight):
        raise ValueError(f"stack: vectors must be {embed.weight.dtype}, got {inputs.dtype}")
    if inputs.device != embed.weight.device:
        raise ValueError(f"stack: inputs must be on {embed.weight.device}, got {inputs.device}")


def embedding(n_tokens: int | None, d_input: int | None, d_model: int) -> nn.Module:
    """An Embedding for tokens, a Linear layer for vectors."""
    if (n_tokens is None) == (d_input is None):
        raise ValueError(f"stack: give either n_tokens or d_input, got n_tokens={n_tokens} and d_input={d_input}")
    return nn.Embedding(n_tokens, d_model) if d_input is None else nn.Linear(d_input, d_model)
