import pytest
import torch
from torch.autograd.functional import jacobian
from torch.nn import functional as F

from mingru.mixers.reflection import Reflection

BETA = {
    "fixed": lambda learned, factors, blocks: torch.full((2, 9, factors, blocks), 2.0),
    "learned": lambda learned, factors, blocks: learned.view(2, 9, factors, blocks),
    "spare": lambda learned, factors, blocks: F.pad(learned.view(2, 9, 1, blocks), (0, 0, factors - 1, 0), value=2.0),
}


def head(mixer, name, x):
    rows = mixer.projection.rows(name)
    return F.linear(x, mixer.projection.weight[rows], mixer.projection.bias[rows])


def dense(keys, strengths):
    """The matrix of one block: keys (factors, block_size) of any length, the first factor on the right."""
    matrix = torch.eye(keys.shape[1], dtype=keys.dtype)
    for key, strength in zip(keys, strengths, strict=True):
        matrix = matrix - strength / (key @ key) * torch.outer(key, key) @ matrix
    return matrix


def transition(mixer, x_t):
    """The matrix that multiplies the state at a token, from the outside: (D, D)."""
    state = mixer.init_state(1).detach()
    return jacobian(lambda state: mixer.step(x_t, state)[0], state).reshape(mixer.d_model, mixer.d_model)


def blocks(mixer, x_t):
    matrix, size = transition(mixer, x_t), mixer.state_shape[1]
    return [matrix[i : i + size, i : i + size] for i in range(0, mixer.d_model, size)]


def with_equal_keys(mixer):
    """Every key of every token is the same; strengths and drive are left as they are."""
    with torch.no_grad():
        mixer.projection.weight[mixer.projection.rows("key")] = 0
        mixer.projection.bias[mixer.projection.rows("key")] = torch.randn(mixer.d_model, dtype=mixer.h0.dtype).repeat(mixer.n_householder)
    return mixer


@pytest.mark.parametrize("injection", [False, True])
@pytest.mark.parametrize(("beta", "factors"), [("fixed", 2), ("fixed", 4), ("learned", 1), ("learned", 3), ("spare", 1), ("spare", 3)])
def test_it_computes_its_equation_with_dense_matrices(beta, factors, injection):
    mixer = Reflection(10, 5, factors, beta, injection).double()
    x = 3 * torch.randn(2, 9, 10, dtype=torch.float64)
    with torch.no_grad():
        keys = head(mixer, "key", x).view(2, 9, factors, 2, 5)
        learned = None if beta == "fixed" else 2 * torch.sigmoid(head(mixer, "strength", x))
        strengths = BETA[beta](learned, factors, 2)
        drive = torch.sigmoid(head(mixer, "gate", x)) * head(mixer, "candidate", x) if injection else torch.zeros_like(x)
        y = mixer(x)[0].view(2, 9, 2, 5)
    for batch in range(2):
        for block in range(2):
            state = mixer.h0[block].detach()
            for t in range(9):
                matrix = dense(keys[batch, t, :, block], strengths[batch, t, :, block])
                state = matrix @ state + drive[batch, t, 5 * block : 5 * block + 5]
                torch.testing.assert_close(y[batch, t, block], state, rtol=0, atol=1e-12)


@pytest.mark.parametrize("factors", [2, 4, 6])
def test_with_fixed_betas_a_token_is_orthogonal_and_of_determinant_one(factors):
    mixer = Reflection(16, n_householder=factors).double()
    for scale in (0.01, 1, 100):
        for block in blocks(mixer, scale * torch.randn(1, 16, dtype=torch.float64)):
            torch.testing.assert_close(block @ block.T, torch.eye(8, dtype=torch.float64), rtol=0, atol=1e-12)
            torch.testing.assert_close(torch.linalg.det(block).item(), 1.0, rtol=0, atol=1e-12)


def test_blocks_do_not_touch_each_other():
    matrix = transition(Reflection(16).double(), torch.randn(1, 16, dtype=torch.float64))
    assert torch.count_nonzero(matrix[:8, 8:]) == torch.count_nonzero(matrix[8:, :8]) == 0
    assert torch.count_nonzero(matrix[:8, :8]) == 64


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-3), (torch.float64, 1e-12)])
def test_with_fixed_betas_the_length_of_every_block_stays_that_of_the_start(dtype, tolerance):
    mixer = Reflection(16).to(dtype)
    with torch.no_grad():
        y = mixer(10 * torch.randn(2, 1000, 16, dtype=dtype))[0]
    lengths = y.view(2, 1000, 2, 8).norm(dim=-1)
    torch.testing.assert_close(lengths, mixer.h0.detach().norm(dim=-1).expand_as(lengths), rtol=tolerance, atol=0)


@pytest.mark.parametrize("factors", [2, 4])
def test_an_even_number_of_reflections_can_be_the_identity(factors):
    mixer = with_equal_keys(Reflection(16, n_householder=factors).double())
    matrix = transition(mixer, torch.randn(1, 16, dtype=torch.float64))
    torch.testing.assert_close(matrix, torch.eye(16, dtype=torch.float64), rtol=0, atol=1e-12)


def test_an_odd_number_of_reflections_mirrors_unless_the_last_is_left_out():
    mixer = with_equal_keys(Reflection(16, n_householder=3, beta="spare").double())
    x_t, rows = torch.randn(1, 16, dtype=torch.float64), mixer.projection.rows("strength")
    for bias, determinant in ((1e3, -1.0), (-1e3, 1.0)):
        with torch.no_grad():
            mixer.projection.bias[rows] = bias
        for block in blocks(mixer, x_t):
            torch.testing.assert_close(torch.linalg.det(block).item(), determinant, rtol=0, atol=1e-12)
    torch.testing.assert_close(transition(mixer, x_t), torch.eye(16, dtype=torch.float64), rtol=0, atol=1e-12)


@pytest.mark.parametrize("factors", [1, 4])
def test_learned_betas_never_lengthen_a_state(factors):
    mixer = Reflection(16, n_householder=factors, beta="learned").double()
    norms = [torch.linalg.matrix_norm(transition(mixer, 10 * torch.randn(1, 16, dtype=torch.float64)), 2) for _ in range(10)]
    assert max(norms) <= 1 + 1e-12
    (block,) = blocks(Reflection(4, 4, 1, "learned").double(), torch.randn(1, 4, dtype=torch.float64))
    eigenvalues = torch.linalg.eigvalsh(block)
    torch.testing.assert_close(eigenvalues[1:], torch.ones(3, dtype=torch.float64))
    assert -1 <= eigenvalues[0] < 1


def test_without_injection_a_state_of_zero_stays_zero_and_with_it_does_not():
    x, zero = torch.randn(2, 5, 16), torch.zeros(2, 2, 8)
    assert torch.count_nonzero(Reflection(16)(x, zero)[0]) == 0
    assert torch.count_nonzero(Reflection(16, injection=True)(x, zero)[0]) > 0


def test_the_start_is_learned_and_has_a_spread_of_one():
    mixer = Reflection(4096)
    assert abs(mixer.h0.std().item() - 1) < 0.05
    mixer(torch.randn(1, 3, 4096))[0].square().sum().backward()
    assert mixer.h0.grad.abs().min() > 0


def test_a_key_of_zero_leaves_the_state_alone():
    mixer = Reflection(16)
    with torch.no_grad():
        mixer.projection.weight.zero_()
        mixer.projection.bias.zero_()
    y = mixer(torch.randn(1, 3, 16))[0]
    assert torch.equal(y, mixer.h0.detach().flatten().expand(1, 3, 16))
    y.sum().backward()
    assert mixer.projection.bias.grad.isfinite().all()
