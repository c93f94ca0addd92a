"""A mixer with a norm before it, a residual around it, and an MLP after it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from mingru.mixers.base import Mixer


class Block(nn.Module):
    """x + mixer(LayerNorm(x)), then x + MLP(LayerNorm(x)) with an exact GELU; a bare mixer stands alone.

    `mixer` is called with d_model, and for a bare one that reads vectors with their width d_input. mlp_expansion is the
    MLP's hidden width over d_model; 0 leaves the MLP out.
    """

    def __init__(self, mixer: Callable[..., Mixer], d_model: int, mlp_expansion: int = 4, d_input: int | None = None) -> None:
        super().__init__()
        if mlp_expansion < 0:
            raise ValueError(f"block: mlp_expansion must be at least 0, got {mlp_expansion}; 0 leaves the MLP out")
        self.mixer = mixer(d_model=d_model) if d_input is None else mixer(d_model=d_model, d_input=d_input)
        self.norm = self.mlp_norm = self.mlp = None
        if not self.mixer.bare:
            self.norm = nn.LayerNorm(d_model)
        if not self.mixer.bare and mlp_expansion > 0:
            width = mlp_expansion * d_model
            self.mlp_norm = nn.LayerNorm(d_model)
            self.mlp = nn.Sequential(nn.Linear(d_model, width), nn.GELU(), nn.Linear(width, d_model))

    def forward(self, x: Tensor, state: Tensor | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return self._around(self.mixer, x, state, delta_t)

    def step(self, x_t: Tensor, state: Tensor | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One token of `forward`: (B, D) -> (B, D), with the same state."""
        return self._around(self.mixer.step, x_t, state, delta_t)

    def _around(
        self, mix: Callable[..., tuple[Tensor, Tensor]], x: Tensor, state: Tensor | None, delta_t: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        if self.norm is None:
            return mix(x, state, delta_t)
        y, state = mix(self.norm(x), state, delta_t)
        x = x + y
        if self.mlp is not None:
            x = x + self.mlp(self.mlp_norm(x))
        return x, state
