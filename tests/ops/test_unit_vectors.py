import pytest
import torch
from torch.nn.functional import normalize

from mingru.ops.unit_vectors import unit_vectors

SIZES = (1, 3, 8, 16, 33)


def drawn(size, dtype=torch.float64, steps=5):
    """A slice of a fused projection, with vectors of length 0 and of next to nothing in it."""
    projected = torch.randn(2, steps, 4 * size + 3, dtype=dtype)
    projected[0, 0], projected[0, 1] = 0, 1e-14 * projected[0, 1]
    return projected[..., 1 : 4 * size + 1].unflatten(-1, (4, size)).requires_grad_()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_vectors_and_gradients_are_those_of_torch(size, dtype):
    vectors, tolerance = drawn(size, dtype), 1e-12 if dtype == torch.float64 else 1e-5
    came, wide = unit_vectors(vectors), vectors.detach().double().requires_grad_()
    want = normalize(wide, dim=-1)
    weights = torch.linspace(-1, 1, want.numel(), dtype=torch.float64).view_as(want)
    assert came.dtype == dtype
    torch.testing.assert_close(came.double(), want, rtol=tolerance, atol=tolerance)
    (grad,) = torch.autograd.grad(came, vectors, weights.to(dtype))
    (want_grad,) = torch.autograd.grad(want, wide, weights)
    # In float32 what is left of a gradient along its vector is rounding, as large as the gradient over the length.
    scale = 1 / wide.detach().norm(dim=-1, keepdim=True).clamp_min(1e-12)
    assert ((grad.double() - want_grad) / scale).abs().max() <= tolerance


def test_gradients_are_those_of_finite_differences():
    assert torch.autograd.gradcheck(unit_vectors, torch.randn(2, 3, 2, 5, dtype=torch.float64, requires_grad=True), check_batched_grad=True)


def test_torch_finds_nothing_wrong_with_the_op():
    torch.library.opcheck(torch.ops.mingru.unit_vectors.default, (drawn(5),))


def test_a_device_without_a_kernel_gets_the_same_from_plain_torch():
    from mingru.ops import unit_vectors as module

    vectors = drawn(5)
    want = unit_vectors(vectors)
    (want_grad,) = torch.autograd.grad((want**2).cumsum(-1).sum(), vectors)
    with module._unit.set_kernel_enabled("cpu", False), module._unit_backward.set_kernel_enabled("cpu", False):
        came = unit_vectors(vectors)
        (grad,) = torch.autograd.grad((came**2).cumsum(-1).sum(), vectors)
    torch.testing.assert_close(came, want)
    torch.testing.assert_close(grad, want_grad)


def test_nan_is_never_hidden():
    vectors = torch.randn(1, 2, 1, 3)
    vectors[0, 1, 0, 2] = float("nan")
    assert unit_vectors(vectors)[0, 1].isnan().all()


def test_a_wrong_shape_is_refused_by_name():
    with pytest.raises(ValueError, match="unit_vectors: vectors has shape"):
        unit_vectors(torch.randn(2, 3, 4))
