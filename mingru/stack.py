"""The whole network: embed, blocks, norm, head."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mingru.block import Block
from mingru.mixers.arguments import read_gaps
from mingru.mixers.base import Mixer, autocast_converts
from mingru.word_decoder import WordDecoder, places


class Stack(nn.Module):
    """Tokens (B, T) or vectors (B, T, d_input) to logits (B, T, n_outputs), one mixer per block.

    `layers` are mixers still to be called with d_model, first layer first. The state is a list with one tensor per
    layer; without a state the first token follows init_state. After a bare last layer there is no final norm, and a bare
    first one reads vectors itself, without the Linear layer that others have before them.

    head="last" gives the logits (B, n_outputs) of the last position alone. head="autoencode" gives those of all
    positions so far, from what is left at the last: inputs bear their places, a decoder is the head, and the state has
    one tensor more, the number of tokens read (B,).

    Time gaps `delta_t` (B, T) go to the layers with a decay channel, and with time_feature=True log(1 + gap) goes beside
    the inputs: next to a vector, or to an embedded token, whose entry layer then is Linear(d_model + 1, d_model).
    Without either, gaps are a ValueError.

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
        time_feature: bool = False,
    ) -> None:
        super().__init__()
        if not layers:
            raise ValueError("stack: layers must name at least one mixer, got none")
        if head not in ("per_position", "last", "autoencode"):
            raise ValueError(f"stack: head must be per_position, last or autoencode, got {head!r}")
        if (n_tokens is None) == (d_input is None):
            raise ValueError(f"stack: give either n_tokens or d_input, got n_tokens={n_tokens} and d_input={d_input}")
        self.d_input, self.time_feature = d_input, time_feature
        width = None if d_input is None else d_input + time_feature
        read_bare = width is not None and is_bare(layers[0], d_model)
        self.embed = None if read_bare else embedding(n_tokens, width, d_model)
        self.time_entry = nn.Linear(d_model + 1, d_model) if time_feature and width is None else None
        widths = [width if read_bare else None, *[None] * (len(layers) - 1)]
        self.blocks = nn.ModuleList(Block(layer, d_model, mlp_expansion, d) for layer, d in zip(layers, widths, strict=True))
        self.autoencodes = head == "autoencode"
        self.norm = nn.Identity() if self.blocks[-1].mixer.bare or self.autoencodes else nn.LayerNorm(d_model)
        self.head = WordDecoder(d_model, n_outputs) if self.autoencodes else nn.Linear(d_model, n_outputs)
        self.last_only = head != "per_position"

    @property
    def state_size(self) -> int:
        """Elements carried per sequence from one token to the next, all layers together."""
        return sum(block.mixer.state_size for block in self.blocks)

    def init_state(self, batch: int) -> list[Tensor]:
        states = [block.mixer.init_state(batch) for block in self.blocks]
        return [*states, states[0].new_zeros(batch, dtype=torch.int64)] if self.autoencodes else states

    def forward(self, inputs: Tensor, state: Sequence[Tensor] | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        self._check(inputs, ("B", "T"), state, delta_t)
        x, read = self._embedded(inputs, delta_t), self._read(state)
        if self.autoencodes:
            x = x + places(read, x.shape[1], x)
        x, states = self._through(self.blocks, x, state, delta_t)
        return self._out(x[:, -1] if self.last_only else x, states, read + inputs.shape[1])

    def step(self, inputs_t: Tensor, state: Sequence[Tensor] | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, list[Tensor]]:
        """One token of `forward`: (B,) or (B, d_input) -> logits (B, n_outputs), with the same state; delta_t is (B,).

        With the head "autoencode", the logits of the word that ends here.
        """
        self._check(inputs_t, ("B",), state, delta_t)
        x, read = self._embedded(inputs_t, delta_t), self._read(state)
        if self.autoencodes:
            x = x + places(read, 1, x)
        x, states = self._through([block.step for block in self.blocks], x, state, delta_t)
        return self._out(x, states, read + 1)

    def _through(
        self, layers: Sequence[Callable] | nn.ModuleList, x: Tensor, state: Sequence[Tensor] | None, delta_t: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        before = [None] * len(layers) if state is None else state[: len(layers)]
        states = []
        for layer, block, carried in zip(layers, self.blocks, before, strict=True):
            x, after = layer(x, carried, delta_t if block.mixer.decay is not None else None)
            states.append(after)
        return x, states

    def _out(self, x: Tensor, states: list[Tensor], read: int) -> tuple[Tensor, list[Tensor]]:
        if not self.autoencodes:
            return self.head(self.norm(x)), states
        return self.head(x, read), [*states, torch.full((len(x),), read, device=x.device)]

    def _read(self, state: Sequence[Tensor] | None) -> int:
        """How many tokens the words of a batch have so far, which only the head "autoencode" asks."""
        if state is None or not self.autoencodes:
            return 0
        read = state[-1].unique().tolist()
        if len(read) != 1:
            raise ValueError(f"stack: the words of a batch go on from one length, got lengths {read}")
        return read[0]

    def _embedded(self, inputs: Tensor, delta_t: Tensor | None) -> Tensor:
        x = self._looked_up(inputs) if self.d_input is None else inputs
        if self.time_feature:
            gaps = read_gaps("stack", delta_t, x, torch.promote_types(x.dtype, torch.float32))
            x = torch.cat([x, gaps.log1p().to(x.dtype).unsqueeze(-1)], dim=-1)
        entry = self.time_entry if self.d_input is None else self.embed
        return x if entry is None else entry(x)

    def _looked_up(self, tokens: Tensor) -> Tensor:
        try:
            return self.embed(tokens)
        except IndexError:
            span = f"{int(tokens.min())} to {int(tokens.max())}"
            raise ValueError(f"stack: tokens must lie in 0 to {self.embed.num_embeddings - 1}, got {span}") from None

    def _check(self, inputs: Tensor, axes: tuple[str, ...], state: Sequence[Tensor] | None, delta_t: Tensor | None) -> None:
        weight = next(self.parameters()) if self.embed is None else self.embed.weight
        check_inputs(inputs, weight, axes, self.d_input)
        wanted = len(self.blocks) + self.autoencodes
        if state is not None and len(state) != wanted:
            counted = " and the number of tokens read" if self.autoencodes else ""
            raise ValueError(f"stack: state must hold one tensor per layer{counted}, {wanted}, got {len(state)}")
        if self.time_feature and delta_t is None:
            raise ValueError("stack: time is an input here, so delta_t is wanted, got none")
        if delta_t is not None and not self.time_feature and all(block.mixer.decay is None for block in self.blocks):
            raise ValueError("stack: got delta_t, but time is no input here and no layer has a decay channel")


def check_inputs(inputs: Tensor, weight: Tensor, axes: tuple[str, ...], d_input: int | None) -> None:
    """ValueError unless these are tokens, or vectors of width d_input, that a layer with such a weight takes."""
    tokens = d_input is None
    width = () if tokens else (d_input,)
    shape = tuple(inputs.shape)
    if len(shape) != len(axes + width) or shape[len(axes) :] != width or 0 in shape:
        wanted = ", ".join((*axes, *map(str, width)))
        raise ValueError(f"stack: inputs must have shape ({wanted}), each at least 1, got {shape}")
    if tokens and inputs.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"stack: tokens must be int64 or int32, got {inputs.dtype}")
    if not tokens and inputs.dtype != weight.dtype and not autocast_converts(inputs, weight):
        raise ValueError(f"stack: vectors must be {weight.dtype}, got {inputs.dtype}")
    if inputs.device != weight.device:
        raise ValueError(f"stack: inputs must be on {weight.device}, got {inputs.device}")


def embedding(n_tokens: int | None, d_input: int | None, d_model: int) -> nn.Module:
    """An Embedding for tokens, a Linear layer for vectors."""
    return nn.Embedding(n_tokens, d_model) if d_input is None else nn.Linear(d_input, d_model)


def is_bare(layer: Callable[..., Mixer], d_model: int) -> bool:
    """Known only of a mixer that is built; one without memory draws no random numbers."""
    with torch.device("meta"):
        return layer(d_model=d_model).bare
