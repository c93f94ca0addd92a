"""What a choice is, and what passes it straight through: the states say nothing of it to finite differences."""

import pytest
import torch
from torch.nn.functional import one_hot

from mingru.ops.block_scan import block_scan
from mingru.ops.selection_scan import reference, selection_scan
from tests.ops.cases import CASES, WIDE, gradients

every_choice = pytest.mark.parametrize("case", [case for case in CASES + WIDE if case.recurrence is selection_scan], ids=str)
either_way = pytest.mark.parametrize("by_source", [True, False])


def matrices(logits, by_source):
    """Ones where a choice falls: row m of it is column m of the matrix by source, and row m of the matrix otherwise."""
    chosen = one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    return chosen.mT if by_source else chosen


@every_choice
def test_states_and_gradients_are_those_of_dense_matrices_and_the_softmax(case):
    arguments = logits, drive, state, decay = case.arguments(2, 33)
    by_source = case.settings["by_source"]
    transition = matrices(logits.detach(), by_source).contiguous().requires_grad_()
    came, want = case.op(*arguments), block_scan(transition, drive, state, decay)
    torch.testing.assert_close(came, want, rtol=1e-12, atol=1e-12)

    of_logits, *others = gradients((came,), arguments)
    of_transition, *wanted = gradients((want,), [transition, drive, state, decay])
    for a, b in zip(others, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-11, atol=1e-11)
    soft = logits.detach().exp() / logits.detach().exp().sum(-1, keepdim=True)
    jacobian = torch.diag_embed(soft) - torch.einsum("...i,...j->...ij", soft, soft)
    of_choice = of_transition.mT if by_source else of_transition
    torch.testing.assert_close(of_logits, torch.einsum("...ij,...j->...i", jacobian, of_choice), rtol=1e-11, atol=1e-11)
    assert of_logits.abs().max() > 0.1


@either_way
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_of_equal_logits_the_first_is_chosen(by_source, dtype):
    logits = torch.randint(0, 2, (2, 30, 3, 4, 4)).to(dtype)
    drive, state = torch.randn(2, 30, 3, 4).to(dtype), torch.randn(2, 3, 4).to(dtype)
    wide = torch.promote_types(dtype, torch.float32)
    want = block_scan(matrices(logits.to(wide), by_source), drive.to(wide), state.to(wide))
    torch.testing.assert_close(selection_scan(logits, drive, state, by_source=by_source), want)


@either_way
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("place", ["logits", "state"])
@pytest.mark.parametrize("scan", [selection_scan, reference.selection_scan], ids=["kernel", "definition"])
def test_what_is_not_finite_makes_its_block_nan_whether_it_is_chosen_or_not(by_source, value, place, scan):
    logits, state = torch.randn(1, 5, 2, 3, 3), torch.randn(1, 2, 3)
    # Every choice falls on entry 0, so that entry 2 is nobody's.
    logits[..., 0] = 9.0
    if place == "logits":
        logits[0, 2, 1, 1, 2] = value
    else:
        state[0, 1, 2] = value
    states = scan(logits, torch.randn(1, 5, 2, 3), state, torch.ones(1, 5, 2), by_source)
    begins = 2 if place == "logits" else 0
    assert not states[:, begins, 1].isfinite().all()
    assert states[:, begins + 1 :, 1].isnan().all()
    assert states[:, :begins].isfinite().all()
    assert states[:, :, 0].isfinite().all()


def test_a_state_that_nothing_meets_is_moved_without_rounding():
    orders = torch.stack([torch.randperm(8) for _ in range(1000)])
    logits = one_hot(orders, 8).float()[None, :, None]
    state = torch.randn(1, 1, 8)
    states = selection_scan(logits, torch.zeros(1, 1000, 1, 8), state)
    assert torch.equal(states[:, -1].sort().values, state.sort().values)
    gone = state[0, 0]
    for order in orders:
        gone = torch.empty(8).index_copy(0, order, gone)
    assert torch.equal(states[0, -1, 0], gone)
