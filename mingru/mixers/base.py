"""What every mixer shares: the state that it carries, the checks on what comes in, forward and step."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from mingru.mixers.arguments import read_gaps, values_can_be_read
from mingru.mixers.decay import time_decay
from mingru.types import Inputs, Outputs, State

# Sequences at a time for which a token's kernel is faster than torch's calls.
FEW = 8


class Mixer(nn.Module):
    """A causal map of sequences (B, T, D) -> (B, T, D) through a state of fixed size per sequence.

    A mixer adds its projections and `_mix`; whoever calls it sees `forward`, `step` and `init_state`. State is float32,
    or float64 in a float64 model, whatever the dtype of weights and inputs; y has the dtype of x.
    Wrong shapes, dtypes and devices are ValueErrors.

    With a decay channel (`decay` "fixed" or "learnable"), the time gap `delta_t` (B, T) before each token scales the
    state that the token finds, by a rate for each entry of the state's first axis; what the token writes is not scaled.
    Then `delta_t` must be given, and without a decay channel must not: a ValueError either way.
    """

    # True: a block puts no norm, residual or MLP around the mixer, and as the first layer it reads vectors itself, of a width `d_input`.
    bare = False
    # `_mix_one` as one CPU kernel, (x_t, state) -> (y_t, state), for mixers that have one.
    _token: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None

    def __init__(
        self,
        name: str,
        d_model: int,
        state_shape: tuple[int, ...],
        decay: str | None = None,
        decay_rate: float | None = None,
        log1p_delta: bool = False,
    ) -> None:
        super().__init__()
        require_positive(name, "d_model", d_model)
        self.name = name
        self.d_model = self.d_input = d_model
        self.state_shape = state_shape
        self.decay = time_decay(name, state_shape[0], decay, decay_rate, log1p_delta)

    @property
    def state_size(self) -> int:
        """Elements carried per sequence from one token to the next."""
        return math.prod(self.state_shape)

    @property
    def state_dtype(self) -> torch.dtype:
        return torch.promote_types(self._weight.dtype, torch.float32)

    def init_state(self, batch: int) -> Tensor:
        """The state before the first token, (batch, *state_shape); what `state=None` means."""
        if batch < 1:
            raise ValueError(f"{self.name}: init_state needs a batch of at least 1, got {batch}")
        return self._start().to(self.state_dtype).expand(batch, *self.state_shape).clone()

    def forward(self, x: Tensor, state: Tensor | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self._check_inputs(x, ("B", "T"))
        state, kept = self._ready(state, len(x)), self._kept(x, delta_t)
        y, last = self._mix(x, state) if kept is None else self._mix(x, state, kept)
        # A copy, so that resetting a carried state in place leaves y alone and y's memory can go.
        return y.to(x.dtype), last.clone()

    def step(self, x_t: Tensor, state: Tensor | None = None, delta_t: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One token of `forward`: (B, D) -> (B, D), with the same state; delta_t is (B,)."""
        if self._token is not None and delta_t is None and self._fits_kernel(x_t, state):
            return self._token(x_t, state)
        self._check_inputs(x_t, ("B",))
        state, kept = self._ready(state, len(x_t)), self._kept(x_t, delta_t)
        if kept is not None:
            state = state * kept.reshape(kept.shape + (1,) * (state.dim() - 2))
        y_t, last = self._mix_one(x_t, state)
        return y_t.to(x_t.dtype), last.clone()

    def margin(self, x: Inputs) -> Tensor | None:
        """How far the transitions at x are from the exact ones that they stand for, or from being others: one number.

        None where they stand for none.
        """
        return None

    def check_state(self, state: Tensor, batch: int) -> None:
        wanted = (batch, *self.state_shape)
        if tuple(state.shape) != wanted:
            raise ValueError(f"{self.name}: state must have shape {wanted}, got {tuple(state.shape)}")
        if state.dtype != self.state_dtype:
            raise ValueError(f"{self.name}: state must be {self.state_dtype}, got {state.dtype}")
        if state.device != self._weight.device:
            raise ValueError(f"{self.name}: state must be on {self._weight.device}, got {state.device}")

    def _mix(self, x: Inputs, state: State, *kept: Tensor) -> tuple[Outputs, State]:
        """Outputs and the state after the last token, computed in `state`'s dtype.

        With a decay channel a third argument (B, T, channels) says what the gap before each token leaves of the state;
        a mixer that has none need not take one.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define _mix")

    def _mix_one(self, x_t: Tensor, state: State) -> tuple[Tensor, State]:
        """`_mix` for one token; a mixer whose recurrence is one line does without the op. A gap has scaled the state already."""
        y, last = self._mix(x_t.unsqueeze(1), state)
        return y.squeeze(1), last

    def _start(self) -> Tensor:
        """The state before the first token, without its batch axis."""
        return self._weight.new_zeros(self.state_shape)

    def _ready(self, state: Tensor | None, batch: int) -> Tensor:
        if state is None:
            return self.init_state(batch)
        self.check_state(state, batch)
        return state

    def _kept(self, x: Tensor, delta_t: Tensor | None) -> Tensor | None:
        """(B, T, channels) or (B, channels): what the gap before each token leaves of the state; None without a decay channel."""
        if self.decay is None and delta_t is not None:
            raise ValueError(f"{self.name}: got delta_t, but this mixer has no decay channel to use it")
        if self.decay is None:
            return None
        if delta_t is None:
            raise ValueError(f"{self.name}: the decay channel wants delta_t, the time gap before each token; got none")
        return self.decay(read_gaps(self.name, delta_t, x, self.state_dtype))

    def _fits_kernel(self, x_t: Tensor, state: Tensor | None) -> bool:
        """Whether a token can go to its kernel. What cannot is checked one by one, which takes longer than the kernel."""
        # The attributes of a module take longer to find than all that is asked here.
        weight = self._modules["projection"]._parameters["weight"]
        return (
            is_plain(x_t)
            and is_plain(state)
            and weight.is_cpu
            and weight.dtype == torch.float32
            and self.decay is None
            and x_t.dim() == 2
            and 0 < x_t.size(0) <= FEW
            and x_t.size(1) == self.d_input
            and state.shape == (x_t.size(0), *self.state_shape)
            and not torch.is_grad_enabled()
            and not torch.is_autocast_enabled("cpu")
            and values_can_be_read()
            and not torch._C._len_torch_dispatch_stack()
        )

    def _check_inputs(self, x: Tensor, axes: tuple[str, ...]) -> None:
        if x.dim() != len(axes) + 1 or x.shape[-1] != self.d_input or 0 in x.shape:
            wanted = ", ".join((*axes, str(self.d_input)))
            raise ValueError(f"{self.name}: inputs must have shape ({wanted}), each at least 1, got {tuple(x.shape)}")
        weight = self._weight
        if x.device != weight.device:
            raise ValueError(f"{self.name}: inputs must be on {weight.device}, got {x.device}")
        if x.dtype != weight.dtype and not autocast_converts(x, weight):
            raise ValueError(f"{self.name}: inputs must be {weight.dtype}, got {x.dtype}")

    @property
    def _weight(self) -> Tensor:
        """Any weight, for the device and dtype of the whole."""
        return self.projection.weight


def require_positive(mixer: str, setting: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{mixer}: {setting} must be at least 1, got {value}; the nearest valid choice is 1")


def multiples_near(value: int, step: int) -> str:
    """The multiples of `step` next to `value`, as an error message names them: "56 or 64"."""
    below = value // step * step
    return f"{below} or {below + step}" if below > 0 else str(step)


def is_plain(x: Tensor | None) -> bool:
    """float32 in a CPU's memory, and no stand-in for a tensor."""
    return type(x) is Tensor and x.is_cpu and x.dtype == torch.float32


def autocast_converts(x: Tensor, weight: Tensor) -> bool:
    """Autocast brings floating dtypes together, all but float64."""
    convertible = all(t.is_floating_point() and t.dtype != torch.float64 for t in (x, weight))
    return convertible and torch.is_autocast_enabled(x.device.type)
