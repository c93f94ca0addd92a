import pytest
import torch
from torch.nn import functional as F

from mingru.mixers.delta import Delta


def head(mixer, name, x):
    rows = mixer.projection.rows(name)
    return F.linear(x, mixer.projection.weight[rows], mixer.projection.bias[rows])


def dense(mixer, x, state):
    """Outputs of one sequence (T, D), each micro-step a product with the dense matrix I - beta k k^T."""
    n_heads, d_k, d_v = mixer.state_shape
    query = head(mixer, "query", x).view(-1, n_heads, d_k)
    key = head(mixer, "key", x).view(-1, mixer.n_householder, n_heads, d_k)
    value = head(mixer, "value", x).view(-1, mixer.n_householder, n_heads, d_v)
    beta = 2 * torch.sigmoid(head(mixer, "strength", x)).view(-1, mixer.n_householder, n_heads)
    outputs = []
    for t in range(len(x)):
        for j in range(mixer.n_householder):
            k = key[t, j] / key[t, j].norm(dim=-1, keepdim=True)
            reflection = torch.eye(d_k, dtype=x.dtype) - beta[t, j][:, None, None] * k[:, :, None] * k[:, None, :]
            state = reflection @ state + beta[t, j][:, None, None] * k[:, :, None] * value[t, j][:, None, :]
        outputs.append(mixer.output(torch.einsum("hkv,hk->hv", state, query[t]).flatten()))
    return torch.stack(outputs), state


def pinned(mixer, **biases):
    """The named heads have a constant output, whatever the input."""
    with torch.no_grad():
        for name, bias in biases.items():
            rows = mixer.projection.rows(name)
            mixer.projection.weight[rows] = 0
            mixer.projection.bias[rows] = bias
    return mixer


@pytest.mark.parametrize("settings", [{}, {"n_householder": 3}, {"n_heads": 2, "n_householder": 2, "d_k": 3, "d_v": 5}])
def test_it_computes_its_equation_with_dense_reflections(settings):
    mixer = Delta(8, **settings).double()
    x = torch.randn(2, 10, 8, dtype=torch.float64)
    state = torch.randn(2, *mixer.state_shape, dtype=torch.float64)
    y, last = mixer(x, state)
    for batch in range(2):
        expected, expected_last = dense(mixer, x[batch], state[batch])
        torch.testing.assert_close(y[batch], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(last[batch], expected_last, rtol=0, atol=1e-12)


def test_key_and_value_widths_default_to_the_width_of_a_head():
    assert Delta(64).state_shape == (4, 16, 16)
    assert Delta(64, d_k=8).state_shape == (4, 8, 8)
    assert Delta(64, n_heads=3, d_k=8, d_v=5).state_shape == (3, 8, 5)


def test_a_full_correction_stores_the_value_under_its_key():
    mixer = pinned(Delta(4, n_heads=1), strength=0.0)
    with torch.no_grad():
        mixer.projection.weight[mixer.projection.rows("query")] = mixer.projection.weight[mixer.projection.rows("key")]
        mixer.projection.bias[mixer.projection.rows("query")] = mixer.projection.bias[mixer.projection.rows("key")]
    x_t = torch.randn(3, 4)
    last = mixer.step(x_t, torch.randn(3, 1, 4, 4))[1][:, 0]
    key = F.normalize(head(mixer, "key", x_t), dim=-1)
    torch.testing.assert_close(torch.einsum("bkv,bk->bv", last, key), head(mixer, "value", x_t))


def test_equal_keys_never_blow_up_for_any_strength():
    for strength in (-1e4, 0.0, 15.0, 1e4):
        mixer = pinned(Delta(8, n_heads=2, n_householder=2), key=1.0, strength=strength)
        x = torch.randn(1, 128, 8, requires_grad=True)
        y, last = mixer(x, torch.randn(1, *mixer.state_shape))
        y.sum().backward()
        assert torch.isfinite(last).all()
        assert torch.isfinite(x.grad).all()
        assert last.abs().max() < 1e3


@pytest.mark.parametrize("scale", [1e-30, 1.0, 10.0, 100.0])
def test_a_state_without_writes_never_grows_whatever_the_keys(scale):
    mixer = pinned(Delta(8, n_heads=2, n_householder=2), value=0.0, strength=1e4)
    with torch.no_grad():
        mixer.projection.weight[mixer.projection.rows("key")] *= scale
        mixer.projection.bias[mixer.projection.rows("key")] *= scale
    state = torch.randn(1, *mixer.state_shape)
    last = mixer(torch.randn(1, 1024, 8), state)[1]
    norms = torch.linalg.matrix_norm(last), torch.linalg.matrix_norm(state)
    assert (norms[0] <= norms[1] * (1 + 1e-3)).all()
    if scale > 1e-30:
        # Two exact reflections per token: nothing is lost either.
        assert (norms[0] >= norms[1] * (1 - 1e-3)).all()


def test_a_zero_key_writes_nothing_and_has_finite_gradients():
    mixer = pinned(Delta(8, n_heads=2), key=0.0)
    x = torch.randn(2, 5, 8, requires_grad=True)
    state = torch.randn(2, *mixer.state_shape)
    y, last = mixer(x, state)
    y.sum().backward()
    assert torch.equal(last, state)
    assert all(torch.isfinite(leaf.grad).all() for leaf in (x, *mixer.parameters()))


def test_no_strength_leaves_the_state_alone():
    mixer = pinned(Delta(8, n_heads=2), strength=-1e4)
    state = torch.randn(2, *mixer.state_shape)
    assert torch.equal(mixer(torch.randn(2, 5, 8), state)[1], state)
