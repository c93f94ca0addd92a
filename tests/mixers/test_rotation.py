import math

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.nn import functional as F

from mingru.mixers.rotation import Rotation, snapped


def heads(mixer, x):
    return {
        head: F.linear(x, mixer.projection.weight[mixer.projection.rows(head)], mixer.projection.bias[mixer.projection.rows(head)])
        for head in ("gate", "candidate", "angle", "scale")
    }


def transition(mixer, x_t):
    """The matrix that multiplies the state at a token, from the outside: (D, D)."""
    state = mixer.init_state(1).detach()
    return jacobian(lambda state: mixer.step(x_t, state)[0], state).reshape(mixer.d_model, mixer.d_model)


def turning(snap, angle, d_model=16):
    """No writing, no shrinking, and the same raw angle in every block at every token."""
    mixer = Rotation(d_model, snap=snap)
    with torch.no_grad():
        mixer.projection.weight.zero_()
        mixer.projection.bias.zero_()
        mixer.projection.bias[mixer.projection.rows("angle")] = angle
        mixer.projection.bias[mixer.projection.rows("scale")] = 20.0
    return mixer


@pytest.mark.parametrize("snap", [(2, 3, 4, 6), None])
def test_it_computes_its_equation_block_by_block(snap):
    mixer = Rotation(8, snap=snap).double()
    x = 5 * torch.randn(2, 12, 8, dtype=torch.float64)
    head = heads(mixer, x)
    state = mixer.init_state(2)
    y, _ = mixer(x)
    for t in range(12):
        for block in range(4):
            angle = head["angle"][:, t, block]
            if snap is not None:
                step = 2 * math.pi / snap[block]
                angle = torch.round(angle / step) * step
            scale = torch.tanh(head["scale"][:, t, block])
            turn = torch.stack([angle.cos(), -angle.sin() * scale, angle.sin(), angle.cos() * scale], -1).view(2, 2, 2)
            pair = slice(2 * block, 2 * block + 2)
            drive = torch.sigmoid(head["gate"][:, t, pair]) * head["candidate"][:, t, pair]
            moved = torch.einsum("bij,bj->bi", turn, state[:, block]) + drive
            torch.testing.assert_close(y[:, t, pair], moved, rtol=0, atol=1e-12)
        state = y[:, t].reshape(2, 4, 2)


def test_with_full_scale_the_transition_is_a_rotation_and_with_negative_scale_a_reflection():
    for bias, determinant in ((20.0, 1.0), (-20.0, -1.0)):
        mixer = turning(None, 0.7, d_model=2).double()
        with torch.no_grad():
            mixer.projection.bias[mixer.projection.rows("scale")] = bias
        matrix = transition(mixer, torch.randn(1, 2, dtype=torch.float64))
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(2, dtype=torch.float64))
        torch.testing.assert_close(torch.linalg.det(matrix).item(), determinant)


def test_snapped_angles_lie_exactly_on_the_grid_of_their_block():
    order = torch.tensor([1, 2, 3, 4, 5, 6])
    angle = 100 * torch.randn(1000, 6)
    result = snapped(angle, order)
    for block, k in enumerate(order.tolist()):
        grid = torch.arange(k) * (2 * math.pi / torch.tensor(k, dtype=torch.float32))
        assert torch.isin(result[:, block], grid).all()
    difference = result.double() - angle.double()
    distance = (torch.remainder(difference + math.pi, 2 * math.pi) - math.pi).abs()
    assert (distance <= math.pi / order + 1e-4).all()


def test_the_orders_of_the_grid_go_round_the_blocks():
    assert Rotation(12, snap=[2, 3, 4, 6]).order.tolist() == [2, 3, 4, 6, 2, 3]


def test_the_gradient_passes_the_rounding_as_if_it_were_not_there():
    angle = torch.randn(50, 4, requires_grad=True)
    numbers = torch.randn(50, 4)
    (snapped(angle, torch.tensor([2, 3, 4, 6])) * numbers).sum().backward()
    assert torch.equal(angle.grad, numbers)


def test_equal_turns_are_equal_numbers_however_often_they_went_round():
    order = torch.tensor([2, 3, 4, 6])
    angle = torch.tensor([0.1, -0.2, 0.3, 0.1])
    assert torch.equal(snapped(angle + 2 * math.pi * 50, order), snapped(angle, order))


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_a_turn_of_order_k_comes_back_after_k_tokens(order):
    mixer = turning([order], 2 * math.pi / order + 0.1)
    start = torch.randn(3, 8, 2)
    state = start
    for _ in range(order):
        torch.testing.assert_close(start.norm(dim=-1), state.norm(dim=-1))
        state = mixer.step(torch.zeros(3, 16), state)[1]
    torch.testing.assert_close(state, start)


def test_a_half_precision_model_keeps_the_grid():
    mixer = turning([3], 2.1).bfloat16()
    x = torch.zeros(1, 3 * 400, 16, dtype=torch.bfloat16)
    start = torch.randn(1, 8, 2)
    state = mixer(x, start)[1]
    torch.testing.assert_close(state, start, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("snap", [(2, 3, 4, 6), None])
def test_the_length_of_a_state_neither_grows_nor_shrinks(snap):
    mixer = turning(snap, 1.0)
    state = torch.randn(1, 8, 2)
    last = mixer(torch.zeros(1, 4096, 16), state)[1]
    torch.testing.assert_close(last.norm(dim=-1), state.norm(dim=-1), rtol=1e-3, atol=0)
