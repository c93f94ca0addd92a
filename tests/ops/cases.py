"""The recurrences with arguments of any length, and one comparison for all of them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import normalize

import mingru.ops.block_scan.reference
import mingru.ops.delta_scan.reference
import mingru.ops.diagonal_scan.reference
import mingru.ops.givens_scan.reference
import mingru.ops.reflection_scan.reference
import mingru.ops.rotation_scan.reference
import mingru.ops.selection_scan.reference
from mingru.ops.block_scan import block_scan
from mingru.ops.delta_scan import delta_scan
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.ops.givens_scan import givens_scan
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.rotation_scan import rotation_scan
from mingru.ops.selection_scan import selection_scan

OPS = (diagonal_scan, rotation_scan, givens_scan, block_scan, delta_scan, reflection_scan, selection_scan)


@dataclass(frozen=True)
class Case:
    """A recurrence and the sizes after batch and time; `arguments` draws tensors for it, `state` is the place of the state.

    `settings` are the arguments that are no tensors: `op` and `reference` are called without them, `overload` with their values last.
    """

    recurrence: Callable
    sizes: tuple[int, ...]
    state: int
    settings: dict[str, bool] = field(default_factory=dict)

    def __str__(self):
        settings = "".join(f"-{name}={value}" for name, value in self.settings.items())
        return f"{self.recurrence.__name__}-{'x'.join(map(str, self.sizes))}{settings}"

    @property
    def module(self):
        return getattr(mingru.ops, self.recurrence.__name__)

    @property
    def op(self) -> Callable:
        return self._set(self.recurrence)

    @property
    def reference(self) -> Callable:
        return self._set(getattr(self.module.reference, self.recurrence.__name__))

    def _set(self, function: Callable) -> Callable:
        if not self.settings:
            return function
        settings = self.settings

        @functools.wraps(function)
        def with_settings(*tensors):
            return function(*tensors, **settings)

        return with_settings

    @property
    def overload(self) -> Callable:
        return getattr(torch.ops.mingru, self.op.__name__).default

    def arguments(self, batch: int, steps: int, dtype=torch.float64) -> list[Tensor]:
        drawn = _DRAW[self.recurrence](batch, steps, *self.sizes)
        return [argument.to(dtype).requires_grad_() for argument in drawn]


def _kept(*shape: int) -> Tensor:
    return 0.8 + 0.2 * torch.rand(shape, dtype=torch.float64)


def _normal(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64)


def _diagonal(b, t, d):
    return 2 * torch.rand(b, t, d, dtype=torch.float64) - 1, _normal(b, t, d), _normal(b, d)


def _rotation(b, t, n):
    return _normal(b, t, n), torch.tanh(_normal(b, t, n)), _normal(b, t, n, 2), _normal(b, n, 2), _kept(b, t, n)


def _givens(b, t, n, rounds, k):
    return _normal(b, t, n, rounds, k // 2), _normal(b, t, n, k), _normal(b, n, k), _kept(b, t, n)


def _block(b, t, n, m):
    transition = torch.linalg.qr(_normal(b, t, n, m, m))[0] + 0.01 * _normal(b, t, n, m, m)
    return transition, _normal(b, t, n, m), _normal(b, n, m), 0.9 * _kept(b, t, n)


def _delta(b, t, j, h, k, v):
    key = normalize(_normal(b, t, j, h, k), dim=-1)
    strength = 2 * torch.rand(b, t, j, h, dtype=torch.float64)
    return _normal(b, t, h, k), key, _normal(b, t, j, h, v), strength, _normal(b, h, k, v), _kept(b, t, h)


def _reflection(b, t, j, n, k):
    key = normalize(_normal(b, t, j, n, k), dim=-1)
    return key, 2 * torch.rand(b, t, j, n, dtype=torch.float64), _normal(b, t, n, k), _normal(b, n, k), _kept(b, t, n)


def _selection(b, t, n, m):
    return _normal(b, t, n, m, m), _normal(b, t, n, m), _normal(b, n, m), _kept(b, t, n)


_DRAW = dict(zip(OPS, (_diagonal, _rotation, _givens, _block, _delta, _reflection, _selection), strict=True))
CASES = [
    Case(diagonal_scan, (5,), 2),
    Case(rotation_scan, (3,), 3),
    Case(givens_scan, (3, 3, 4), 2),
    Case(block_scan, (3, 3), 2),
    Case(delta_scan, (2, 2, 3, 5), 4),
    Case(reflection_scan, (3, 2, 3), 3),
    Case(selection_scan, (3, 3), 2, {"by_source": True}),
    Case(selection_scan, (3, 3), 2, {"by_source": False}),
]
SMALLEST = [
    Case(diagonal_scan, (1,), 2),
    Case(rotation_scan, (1,), 3),
    Case(givens_scan, (1, 1, 2), 2),
    Case(block_scan, (1, 1), 2),
    Case(delta_scan, (1, 1, 1, 1), 4),
    Case(reflection_scan, (1, 1, 1), 3),
    Case(selection_scan, (1, 1), 2, {"by_source": True}),
    Case(selection_scan, (1, 1), 2, {"by_source": False}),
]
# Sizes beyond what a kernel does at once, and no multiple of it.
WIDE = [
    Case(diagonal_scan, (150,), 2),
    Case(rotation_scan, (70,), 3),
    Case(givens_scan, (67, 3, 4), 2),
    Case(block_scan, (70, 3), 2),
    Case(delta_scan, (3, 2, 18, 33), 4),
    Case(reflection_scan, (3, 70, 3), 3),
    Case(selection_scan, (70, 3), 2, {"by_source": True}),
    Case(selection_scan, (70, 3), 2, {"by_source": False}),
]


def results(function: Callable, arguments: list[Tensor]) -> tuple[Tensor, ...]:
    """What the op returns, always as a tuple."""
    returned = function(*arguments)
    return returned if isinstance(returned, tuple) else (returned,)


def gradients(outputs: tuple[Tensor, ...], arguments: list[Tensor]) -> tuple[Tensor, ...]:
    """Of a loss that weighs each output entry differently, and neighbours not nearly alike: what is lost in a difference of two
    gradients is then not the most of it."""
    weights = [torch.arange(output.numel(), dtype=torch.float64).cos().to(output.dtype).view_as(output) for output in outputs]
    return torch.autograd.grad(sum((output * weight).sum() for output, weight in zip(outputs, weights, strict=True)), arguments)


def assert_matches_reference(case: Case, arguments: list[Tensor], tolerance: float) -> None:
    """Values and gradients against the loop over t in float64."""
    assert_matches(case.reference, case, arguments, tolerance)


def assert_matches(judge: Callable, case: Case, arguments: list[Tensor], tolerance: float) -> None:
    """Values and gradients against what `judge` gives in float64, each tensor's error relative to its largest entry."""
    outputs = results(case.op, arguments)
    wide = [argument.detach().double().requires_grad_() for argument in arguments]
    wanted = results(judge, wide)
    pairs = zip((*outputs, *gradients(outputs, arguments)), (*wanted, *gradients(wanted, wide)), strict=True)
    for place, (came, want) in enumerate(pairs):
        assert came.shape == want.shape
        error = (came.double() - want).abs().max() / want.abs().max().clamp_min(1e-30)
        assert error <= tolerance, f"tensor {place}: relative error {error:.1e}"
