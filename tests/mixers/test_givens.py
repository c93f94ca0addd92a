import pytest
import torch
from torch.autograd.functional import jacobian
from torch.nn import functional as F

from mingru.mixers.givens import Givens


def planes(block_size, round_):
    first = range(round_ % 2, block_size, 2)
    return [(i, (i + 1) % block_size) for i in first]


def dense(angles):
    """The orthogonal matrix of one block from its angles (rounds, block_size / 2), multiplied out plane by plane."""
    size = 2 * angles.shape[1]
    matrix = torch.eye(size, dtype=angles.dtype)
    for round_, row in enumerate(angles):
        for angle, (i, j) in zip(row, planes(size, round_), strict=True):
            turn = torch.eye(size, dtype=angles.dtype)
            turn[i, i], turn[i, j], turn[j, i], turn[j, j] = angle.cos(), -angle.sin(), angle.sin(), angle.cos()
            matrix = turn @ matrix
    return matrix


def head(mixer, name, x):
    rows = mixer.projection.rows(name)
    return F.linear(x, mixer.projection.weight[rows], mixer.projection.bias[rows])


def transition(mixer, x_t):
    """The matrix that multiplies the state at a token, from the outside: (D, D)."""
    state = mixer.init_state(1).detach()
    return jacobian(lambda state: mixer.step(x_t, state)[0], state).reshape(mixer.d_model, mixer.d_model)


def test_even_rounds_turn_neighbours_and_odd_rounds_the_pairs_between():
    assert planes(8, 0) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert planes(8, 1) == [(1, 2), (3, 4), (5, 6), (7, 0)]


@pytest.mark.parametrize(("block_size", "rounds"), [(2, 1), (2, 2), (4, 3), (6, 4), (8, 3)])
def test_it_computes_its_equation_with_dense_matrices(block_size, rounds):
    mixer = Givens(2 * block_size, block_size, rounds).double()
    x = 3 * torch.randn(2, 9, 2 * block_size, dtype=torch.float64)
    with torch.no_grad():
        angles = head(mixer, "angle", x).view(2, 9, 2, rounds, block_size // 2)
        drive = (torch.sigmoid(head(mixer, "gate", x)) * head(mixer, "candidate", x)).view(2, 9, 2, block_size)
        y = mixer(x)[0].view(2, 9, 2, block_size)
    for batch in range(2):
        for block in range(2):
            state = mixer.h0[block].detach()
            for t in range(9):
                state = dense(angles[batch, t, block]) @ state + drive[batch, t, block]
                torch.testing.assert_close(y[batch, t, block], state, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_transition_is_block_diagonal_orthogonal_and_of_determinant_one(rounds):
    mixer = Givens(16, rounds=rounds).double()
    matrix = transition(mixer, 10 * torch.randn(1, 16, dtype=torch.float64))
    torch.testing.assert_close(matrix @ matrix.T, torch.eye(16, dtype=torch.float64))
    for block in (matrix[:8, :8], matrix[8:, 8:]):
        torch.testing.assert_close(torch.linalg.det(block).item(), 1.0)
    assert torch.count_nonzero(matrix[:8, 8:]) == torch.count_nonzero(matrix[8:, :8]) == 0


def test_one_round_couples_pairs_and_three_rounds_nearly_the_whole_block():
    x_t = torch.randn(1, 8, dtype=torch.float64)
    coupled = [int(torch.count_nonzero(transition(Givens(8, rounds=rounds).double(), x_t))) for rounds in (1, 2, 3)]
    assert coupled == [16, 32, 48]


def test_the_length_of_a_state_neither_grows_nor_shrinks_in_float32():
    mixer = Givens(16)
    with torch.no_grad():
        mixer.projection.bias[mixer.projection.rows("gate")] = -1e3
    state = torch.randn(1, 2, 8)
    last = mixer(torch.randn(1, 1024, 16), state)[1]
    torch.testing.assert_close(last.norm(dim=-1), state.norm(dim=-1), rtol=1e-3, atol=0)
