import pytest
import torch

from tests.ops.cases import CASES, SMALLEST, WIDE, assert_matches, assert_matches_reference, gradients, results

LENGTHS = (1, 2, 3, 63, 64, 65, 100, 127, 1024)
every_op = pytest.mark.parametrize("case", CASES, ids=str)


@every_op
@pytest.mark.parametrize("steps", LENGTHS)
def test_a_kernel_equals_the_loop_over_t_in_values_and_gradients(case, steps):
    assert_matches_reference(case, case.arguments(2, steps), 1e-10)


@every_op
@pytest.mark.parametrize("steps", [1, 65, 4096])
def test_a_kernel_in_float32_stays_close_to_the_one_in_float64(case, steps):
    assert_matches(case.op, case, case.arguments(2, steps, torch.float32), 1e-5)


@pytest.mark.parametrize("case", [*SMALLEST, *WIDE], ids=str)
@pytest.mark.parametrize("batch", [1, 3])
def test_a_kernel_takes_any_size(case, batch):
    assert_matches_reference(case, case.arguments(batch, 19), 1e-10)


@every_op
def test_gradients_are_those_of_finite_differences(case):
    arguments = case.arguments(2, 4)
    if case.op.__name__ == "selection_scan":
        # The states are steps in the logits; tests/ops/test_selection.py has what passes straight through.
        arguments[0].requires_grad_(False)
    assert torch.autograd.gradcheck(case.op, arguments, check_batched_grad=True)


@every_op
def test_torch_finds_nothing_wrong_with_an_op(case):
    torch.library.opcheck(case.overload, (*case.arguments(2, 18), *case.settings.values()))


@every_op
@pytest.mark.parametrize("cut", [1, 7, 63, 64, 65])
def test_a_state_carries_across_a_cut(case, cut):
    arguments = case.arguments(2, 66)
    whole = results(case.op, arguments)
    parts, state = [], arguments[case.state]
    for part in (slice(0, cut), slice(cut, None)):
        pieces = [argument[:, part] for argument in arguments]
        pieces[case.state] = state
        output = results(case.op, pieces)
        parts.append(output[0])
        state = output[1] if len(output) == 2 else output[0][:, -1]
    cut_in_two = (torch.cat(parts, dim=1), state)[: len(whole)]
    for came, want in zip(cut_in_two + gradients(cut_in_two, arguments), whole + gradients(whole, arguments), strict=True):
        torch.testing.assert_close(came, want, rtol=1e-12, atol=1e-12)


@every_op
def test_a_decay_of_none_is_a_decay_of_one(case):
    arguments = case.arguments(2, 5)
    if case.op.__name__ != "diagonal_scan":
        arguments = arguments[:-1]
        ones = torch.ones(arguments[0].shape[:2] + arguments[case.state].shape[1:2], dtype=torch.float64)
        for came, want in zip(results(case.op, arguments), results(case.op, [*arguments, ones]), strict=True):
            assert torch.equal(came, want)


LAYOUTS = {
    "a slice of a fused projection": lambda x: torch.stack([x, x], dim=2)[:, :, 1],
    "time before batch": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "every other entry": lambda x: torch.stack([x, x], dim=-1)[..., 0],
    "axes turned around": lambda x: x.permute(*reversed(range(x.ndim))).contiguous().permute(*reversed(range(x.ndim))),
    "expanded": lambda x: x[:1, :1].expand(x.shape),
}


@every_op
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_an_argument_does_not_change_the_result(case, layout):
    laid_out = [LAYOUTS[layout](argument.detach()) for argument in case.arguments(3, 20)]
    plain = [argument.clone(memory_format=torch.contiguous_format).requires_grad_() for argument in laid_out]
    views = [argument.requires_grad_() for argument in laid_out]
    came, want = results(case.op, views), results(case.op, plain)
    assert all(map(torch.equal, came + gradients(came, views), want + gradients(want, plain)))


@every_op
def test_a_state_expanded_over_the_batch_is_left_alone(case):
    arguments = case.arguments(3, 5)
    learned = arguments[case.state][:1].detach().requires_grad_()
    before = learned.clone()
    arguments[case.state] = learned.expand_as(arguments[case.state])
    outputs = results(case.op, arguments)
    (grad,) = gradients(outputs, [learned])
    assert torch.equal(learned, before)
    assert grad.shape == learned.shape
    assert grad.isfinite().all()


@every_op
def test_a_gradient_that_is_expanded_or_missing_is_understood(case):
    arguments = case.arguments(2, 5)
    outputs, wanted = results(case.op, arguments), results(case.reference, arguments)
    for came, want in zip(outputs, wanted, strict=True):
        came_grads = torch.autograd.grad(came.sum(), arguments, retain_graph=True, allow_unused=True, materialize_grads=True)
        want_grads = torch.autograd.grad(want.sum(), arguments, retain_graph=True, allow_unused=True, materialize_grads=True)
        for a, b in zip(came_grads, want_grads, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@every_op
def test_nan_is_never_hidden(case):
    arguments = [argument.detach() for argument in case.arguments(1, 6, torch.float32)]
    for place in range(len(arguments)):
        broken = [argument.clone() for argument in arguments]
        broken[place][(-1,) * broken[place].ndim] = float("nan")
        assert any(output.isnan().any() for output in results(case.op, broken))


@every_op
@pytest.mark.parametrize("dims", [0, 1])
def test_vmap_over_seeds_gives_each_seed_its_own_results_and_gradients(case, dims):
    seeds = [case.arguments(2, 5) for _ in range(3)]
    stacked = [torch.stack(arguments, dim=dims).detach().requires_grad_() for arguments in zip(*seeds, strict=True)]
    together = torch.vmap(lambda *arguments: results(case.op, arguments), in_dims=dims)(*stacked)
    grads = torch.autograd.grad(sum((output**2).sum() for output in together), stacked)
    for seed, arguments in enumerate(seeds):
        alone = results(case.op, arguments)
        alone_grads = torch.autograd.grad(sum((output**2).sum() for output in alone), arguments)
        assert all(torch.equal(output[seed], want) for output, want in zip(together, alone, strict=True))
        assert all(torch.equal(grad.select(dims, seed), want) for grad, want in zip(grads, alone_grads, strict=True))


@every_op
def test_vmap_shares_an_argument_that_has_no_seed_axis(case):
    arguments = case.arguments(2, 5)
    seeds = torch.stack([arguments[0], 2 * arguments[0]]).detach()
    in_dims = (0, *[None] * (len(arguments) - 1))
    together = torch.vmap(lambda *given: results(case.op, given), in_dims=in_dims)(seeds, *arguments[1:])
    for seed in range(2):
        alone = results(case.op, [seeds[seed], *arguments[1:]])
        assert all(torch.equal(output[seed], want) for output, want in zip(together, alone, strict=True))


@every_op
def test_a_device_without_a_kernel_gets_the_same_from_plain_torch(case):
    arguments = case.arguments(2, 35)
    want = results(case.op, arguments)
    want += gradients(want, arguments)
    with case.module._scan.set_kernel_enabled("cpu", False), case.module._scan_backward.set_kernel_enabled("cpu", False):
        came = results(case.op, arguments)
        came += gradients(came, arguments)
    for a, b in zip(came, want, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@every_op
def test_nothing_is_kept_for_a_backward_pass_without_gradients(case):
    with torch.no_grad():
        assert all(output.grad_fn is None for output in results(case.op, case.arguments(2, 5)))


@every_op
def test_a_compiled_op_equals_the_eager_one_at_every_length(case):
    compiled = torch.compile(case.op, backend="aot_eager", fullgraph=True, dynamic=True)
    for steps in (5, 9):
        arguments = case.arguments(2, steps)
        came, want = results(compiled, arguments), results(case.op, arguments)
        assert all(map(torch.equal, came + gradients(came, arguments), want + gradients(want, arguments)))
    torch._dynamo.reset()
