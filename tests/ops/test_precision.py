import pytest
import torch
from torch.nn.functional import normalize

from mingru.ops.delta_scan import delta_scan
from mingru.ops.givens_scan import givens_scan
from tests.ops.cases import CASES, gradients, results

every_op = pytest.mark.parametrize("case", CASES, ids=str)


@every_op
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_arguments_are_computed_in_float32(case, dtype):
    halves = [argument.detach().to(dtype).requires_grad_() for argument in case.arguments(2, 20)]
    singles = [argument.detach().float().requires_grad_() for argument in halves]
    came, want = results(case.op, halves), results(case.op, singles)
    assert all(output.dtype == torch.float32 for output in came)
    assert all(map(torch.equal, came, want))
    for half, single in zip(gradients(came, halves), gradients(want, singles), strict=True):
        assert torch.equal(half, single.to(dtype))


@every_op
def test_the_state_stays_float32_under_autocast(case):
    arguments = case.arguments(2, 20, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        drawn = arguments[0] @ torch.eye(arguments[0].shape[-1])
        assert drawn.dtype == torch.bfloat16
        outputs = results(case.op, [drawn, *arguments[1:]])
    assert all(output.dtype == torch.float32 for output in outputs)
    wanted = results(case.op, [drawn.float(), *arguments[1:]])
    assert all(map(torch.equal, outputs, wanted))


def test_rotations_keep_the_norm_of_a_state_over_a_hundred_thousand_steps():
    steps = 100_000
    angle, drive = torch.randn(1, steps, 1, 3, 4), torch.zeros(1, steps, 1, 8)
    states = givens_scan(angle, drive, normalize(torch.randn(1, 1, 8), dim=-1))
    assert (states[:, -1].norm() - 1).abs() < 1e-3


KEYS = {
    "random": lambda shape: normalize(torch.randn(shape), dim=-1),
    "zero": lambda shape: torch.zeros(shape),
    "the same at every token": lambda shape: normalize(torch.ones(shape), dim=-1),
}


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("strength", [0.0, 1.0, 2 - 1e-7, 2.0])
@pytest.mark.parametrize("decay", [0.0, 1e-38, 1.0])
def test_the_delta_rule_stays_finite_and_bounded_at_its_edges(keys, strength, decay):
    steps, size = 2048, 8
    key = KEYS[keys]((1, steps, 1, 1, size)).requires_grad_()
    query, value = torch.randn(1, steps, 1, size, requires_grad=True), torch.randn(1, steps, 1, 1, size, requires_grad=True)
    strengths, decays = torch.full((1, steps, 1, 1), strength, requires_grad=True), torch.full((1, steps, 1), decay, requires_grad=True)
    outputs, state = delta_scan(query, key, value, strengths, torch.randn(1, 1, size, size), decays)
    assert state.norm() < 2 * steps
    assert all(grad.isfinite().all() for grad in gradients((outputs, state), [query, key, value, strengths, decays]))


def saved_numbers(function, arguments):
    """How many numbers autograd holds on to, each memory counted once."""
    saved = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.setdefault(x.data_ptr(), x), lambda x: x):
        outputs = results(function, arguments)
    return sum(tensor.numel() for tensor in saved.values()), outputs


@every_op
def test_what_is_saved_for_the_backward_pass_is_little_more_than_coefficients_and_states(case):
    arguments = case.arguments(2, 256)
    saved, outputs = saved_numbers(case.op, arguments)
    assert saved <= 1.25 * sum(tensor.numel() for tensor in (*arguments, *outputs))


def test_the_backward_pass_needs_no_history_of_matrix_states():
    steps, size = 4096, 16
    key = normalize(torch.randn(1, steps, 1, 1, size), dim=-1)
    saved, _ = saved_numbers(
        delta_scan,
        [torch.randn(1, steps, 1, size, requires_grad=True), key, key, torch.ones(1, steps, 1, 1), torch.zeros(1, 1, size, size)],
    )
    assert saved < steps * size * size / 3
