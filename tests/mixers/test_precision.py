"""State and recurrence are float32 or wider, whatever the dtype around them."""

import copy

import pytest
import torch

from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.reflection import Reflection
from mingru.mixers.rotation import Rotation
from mingru.mixers.selection import Selection
from mingru.mixers.signed import Signed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_under_autocast_the_state_is_float32_and_outputs_have_the_dtype_of_inputs(build, dtype):
    mixer = build(d_model=16)
    x = torch.randn(2, 9, 16, dtype=dtype)
    with torch.autocast("cpu", torch.bfloat16):
        y, state = mixer(x)
        again, _ = mixer(x, state)
        y_t, state_t = mixer.step(x[:, 0], mixer.init_state(2))
    assert {y.dtype, again.dtype, y_t.dtype} == {dtype}
    assert {state.dtype, state_t.dtype, mixer.init_state(2).dtype} == {torch.float32}
    y.float().sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in mixer.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_model_carries_a_float32_state(build, dtype):
    mixer = build(d_model=16).to(dtype)
    x = torch.randn(2, 9, 16, dtype=dtype)
    y, state = mixer(x)
    y_t, state_t = mixer.step(x[:, 0], state)
    assert (y.dtype, y_t.dtype) == (dtype, dtype)
    assert {state.dtype, state_t.dtype} == {torch.float32}
    y.float().sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in mixer.parameters() if parameter.grad is not None)


def test_a_double_model_carries_a_double_state(mixer):
    assert mixer.init_state(2).dtype == torch.float64
    assert mixer(torch.randn(2, 9, 16, dtype=torch.float64))[1].dtype == torch.float64


@pytest.mark.parametrize("build", [Log, Signed, Rotation, Givens, Delta, Reflection, Selection])
def test_of_a_half_precision_model_only_the_projections_are_rounded(build):
    """Signs, angles and strengths near their ends need more digits than bfloat16 has."""
    mixer = build(16).bfloat16()
    x = torch.randn(2, 64, 16, dtype=torch.bfloat16)
    wide = copy.deepcopy(mixer).float()
    wide.projection.forward = lambda x: mixer.projection(x.bfloat16())
    assert torch.equal(mixer(x)[1], wide(x.float())[1])


def test_float32_stays_close_to_float64_over_a_thousand_tokens(build):
    mixer = build(d_model=16)
    x = torch.randn(1, 1024, 16)
    y = mixer(x)[0]
    expected = mixer.double()(x.double())[0]
    assert (y - expected).abs().max() / expected.abs().max() < 1e-4
