import itertools

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.nn import functional as F

from mingru.mixers.selection import Selection

FORMS = ("column", "row", "bijective")
every_form = pytest.mark.parametrize("form", FORMS)


def head(mixer, name, x):
    rows = mixer.projection.rows(name)
    return F.linear(x, mixer.projection.weight[rows], mixer.projection.bias[rows])


def pairs(size):
    return [(i, j) for i in range(size) for j in range(i + 1, size)]


def dense(form, logits):
    """The matrix of one block from its logits, entry by entry: (size, size), or (factors, pairs) for swaps."""
    if form == "bijective":
        size = next(size for size in range(2, 99) if len(pairs(size)) == logits.shape[1])
        matrix = torch.eye(size, dtype=logits.dtype)
        for i, j in (pairs(size)[int(row.argmax())] for row in logits):
            matrix[[i, j]] = matrix[[j, i]]
        return matrix
    matrix = torch.zeros_like(logits)
    for m, row in enumerate(logits):
        matrix[(int(row.argmax()), m) if form == "column" else (m, int(row.argmax()))] = 1
    return matrix


def transition(mixer, x_t):
    """The matrix that multiplies the state at a token, from the outside: (D, D)."""
    state = mixer.init_state(1).detach()
    return jacobian(lambda state: mixer.step(x_t, state)[0], state).reshape(mixer.d_model, mixer.d_model)


def shape_of_logits(form, size, factors):
    return (factors, 2, len(pairs(size))) if form == "bijective" else (2, size, size)


@every_form
@pytest.mark.parametrize("injection", [False, True])
@pytest.mark.parametrize("size", [2, 5])
def test_it_computes_its_equation_with_dense_matrices(form, injection, size):
    factors = 3 if form == "bijective" else None
    mixer = Selection(2 * size, size, form, factors, injection).double()
    x = 3 * torch.randn(2, 9, 2 * size, dtype=torch.float64)
    with torch.no_grad():
        logits = head(mixer, "choice", x).view(2, 9, *shape_of_logits(form, size, factors))
        drive = torch.sigmoid(head(mixer, "gate", x)) * head(mixer, "candidate", x) if injection else torch.zeros_like(x)
        y = mixer(x)[0].view(2, 9, 2, size)
    for batch in range(2):
        for block in range(2):
            state = mixer.h0[block].detach()
            for t in range(9):
                chosen = logits[batch, t, :, block] if form == "bijective" else logits[batch, t, block]
                state = dense(form, chosen) @ state + drive[batch, t, size * block : size * (block + 1)]
                torch.testing.assert_close(y[batch, t, block], state, rtol=0, atol=1e-12)


@every_form
def test_a_token_is_a_block_diagonal_matrix_of_zeros_and_ones(form):
    mixer = Selection(16, form=form).double()
    for _ in range(5):
        matrix = transition(mixer, 3 * torch.randn(1, 16, dtype=torch.float64))
        assert torch.count_nonzero(matrix[:8, 8:]) == torch.count_nonzero(matrix[8:, :8]) == 0
        torch.testing.assert_close(matrix, matrix.round(), rtol=0, atol=1e-12)
        matrix = matrix.round()
        assert set(matrix.unique().tolist()) == {0.0, 1.0}
        ones = torch.ones(16, dtype=torch.float64)
        assert form == "row" or torch.equal(matrix.sum(0), ones)
        assert form == "column" or torch.equal(matrix.sum(1), ones)


@every_form
def test_a_state_of_small_integers_is_moved_exactly_over_a_thousand_tokens(form):
    mixer = Selection(16, form=form)
    state = torch.arange(16.0).view(1, 2, 8)
    last = mixer(10 * torch.randn(1, 1000, 16), state)[1]
    assert torch.equal(last, last.round())
    if form == "row":
        assert all(set(last[0, n].tolist()) <= set(state[0, n].tolist()) for n in range(2))
    else:
        assert torch.equal(last.sum(-1), state.sum(-1))
    if form == "bijective":
        assert torch.equal(last.sort().values, state)


def test_swaps_lose_nothing_over_a_thousand_tokens():
    mixer = Selection(16, form="bijective").double()
    last = mixer(10 * torch.randn(3, 1000, 16, dtype=torch.float64))[1].detach()
    wanted = mixer.h0.detach().sort().values.expand_as(last)
    torch.testing.assert_close(last.sort().values, wanted, rtol=0, atol=1e-11)


def distinct(states):
    return torch.tensor([[len(set(block.tolist())) for block in token] for token in states])


def test_entries_that_merged_never_part_without_injection():
    """Of the column form, the entries that a place holds together are all moved together; of the row form, copies stay copies."""
    x = torch.randn(1, 40, 16)
    held = []
    mixer = Selection(16)
    for entry in range(8):
        state = torch.zeros(1, 2, 8)
        state[..., entry] = 1
        held.append(mixer(x, state)[0].view(40, 2, 8).argmax(-1))
    places = torch.stack(held, dim=-1)
    for earlier, later in itertools.pairwise(places):
        together = earlier[..., :, None] == earlier[..., None, :]
        assert (later[..., :, None] == later[..., None, :])[together].all()

    mixer = Selection(16, form="row")
    values = distinct(mixer(x)[0].detach().view(40, 2, 8))
    assert (values[1:] <= values[:-1]).all()
    assert values[-1].max() < 8


def test_with_injection_what_merged_parts_again():
    mixer = Selection(16, form="row", injection=True)
    merged = torch.zeros(1, 2, 8)
    y = mixer(torch.randn(1, 1, 16), merged)[0].detach().view(1, 2, 8)
    assert distinct(y).min() == 8


@pytest.mark.parametrize("form", ["column", "row"])
def test_the_gradient_of_a_choice_is_the_softmaxs(form):
    """One token from a given state: the states that a soft choice would give have the same gradient."""
    mixer = Selection(16, form=form).double()
    x, state, weight = torch.randn(2, 1, 16).double(), torch.randn(2, 2, 8).double(), torch.randn(2, 1, 16).double()
    wanted = [mixer.projection.weight, mixer.projection.bias]
    came = torch.autograd.grad((mixer(x, state)[0] * weight).sum(), wanted)
    soft = torch.softmax(head(mixer, "choice", x).view(2, 2, 8, 8), dim=-1)
    moved = torch.einsum("bnij,bni->bnj" if form == "column" else "bnij,bnj->bni", soft, state)
    for a, b in zip(came, torch.autograd.grad((moved.reshape(2, 1, 16) * weight).sum(), wanted), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
        assert a.abs().max() > 0


def test_the_gradient_of_a_swap_is_that_of_the_reflection_along_the_softmaxs_direction():
    """To first order about the direction that was chosen, one factor."""
    mixer = Selection(8, 8, "bijective", 1).double()
    x, state, weight = torch.randn(1, 1, 8).double(), torch.randn(1, 1, 8).double(), torch.randn(8).double()
    wanted = [mixer.projection.weight, mixer.projection.bias]
    came = torch.autograd.grad((mixer(x, state)[0].flatten() * weight).sum(), wanted)
    logits = head(mixer, "choice", x).flatten()
    directions = torch.zeros(28, 8, dtype=torch.float64)
    for row, (i, j) in enumerate(pairs(8)):
        directions[row, i], directions[row, j] = 0.5**0.5, -(0.5**0.5)
    key = directions[logits.argmax()].clone().requires_grad_()
    h = state.flatten()
    (of_key,) = torch.autograd.grad(((h - 2 * key * (key @ h)) * weight).sum(), key)
    surrogate = (torch.softmax(logits, -1) @ directions) @ of_key
    for a, b in zip(came, torch.autograd.grad(surrogate, wanted), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
        assert a.abs().max() > 0


@every_form
def test_choices_learn(form):
    mixer = Selection(16, form=form)
    mixer(torch.randn(2, 20, 16))[0].square().sum().backward()
    assert mixer.h0.grad.isfinite().all()
    assert mixer.projection.weight.grad.isfinite().all()
    assert torch.count_nonzero(mixer.projection.weight.grad) > 0
