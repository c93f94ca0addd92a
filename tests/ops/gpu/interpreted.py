"""What runs in the interpreter's process: the checks of a CPU kernel, with a Triton kernel in its place."""

import importlib
import os
import sys

import torch
from torch import Tensor

from tests.ops.cases import CASES, Case, assert_matches_reference, gradients, results


def start() -> None:
    assert "triton" not in sys.modules
    os.environ["TRITON_INTERPRET"] = "1"
    torch.set_num_threads(1)
    # Memory that a kernel forgets to fill is NaN.
    torch.use_deterministic_algorithms(True)
    for case in CASES:
        gpu = importlib.import_module(f"{case.module.__name__}.gpu")
        case.module._scan.register_kernel("cpu")(gpu.forward)
        case.module._scan_backward.register_kernel("cpu")(gpu.backward)


def match(case: Case, steps: int, dtype: torch.dtype = torch.float32, tolerance: float = 1e-5) -> None:
    torch.manual_seed(0)
    assert_matches_reference(case, case.arguments(2, steps, dtype), tolerance)


def match_from_views(case: Case, steps: int) -> None:
    """Batch and time are strided; the other axes lie next to each other in the one, not in the other."""
    torch.manual_seed(0)
    for view in (lambda x: torch.stack([x, x], dim=1)[:, 1], lambda x: torch.stack([x, x], dim=-1)[..., 0]):
        arguments = [view(x.detach()).requires_grad_() for x in case.arguments(2, steps, torch.float32)]
        assert not any(x.is_contiguous() for x in arguments)
        assert_matches_reference(case, arguments, 1e-5)


def match_expanded(case: Case, steps: int) -> None:
    """One start for the whole batch, no decay, and a gradient of one number for all."""
    torch.manual_seed(0)
    arguments = [x.detach() for x in case.arguments(2, steps, torch.float32)]
    arguments[case.state] = arguments[case.state][:1].expand_as(arguments[case.state])
    arguments = [x.requires_grad_() for x in (arguments if case.op.__name__ == "diagonal_scan" else arguments[:-1])]
    wide = [x.detach().double().requires_grad_() for x in arguments]
    decay = torch.ones(arguments[0].shape[:2] + arguments[case.state].shape[1:2], dtype=torch.float64)
    wanted = results(case.reference, wide if case.op.__name__ == "diagonal_scan" else [*wide, decay])
    came = results(case.op, arguments)
    grads = torch.autograd.grad(sum(x.sum() for x in came), arguments)
    wanted_grads = torch.autograd.grad(sum(x.sum() for x in wanted), wide)
    for a, b in zip((*came, *grads), (*wanted, *wanted_grads), strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-5, atol=1e-5)


def match_across_a_cut(case: Case, steps: int, cut: int) -> None:
    torch.manual_seed(0)
    arguments = case.arguments(2, steps, torch.float32)
    whole = results(case.op, arguments)
    parts, state = [], arguments[case.state]
    for part in (slice(0, cut), slice(cut, None)):
        pieces = [x[:, part] for x in arguments]
        pieces[case.state] = state
        output = results(case.op, pieces)
        parts.append(output[0])
        state = output[1] if len(output) == 2 else output[0][:, -1]
    in_two = (torch.cat(parts, dim=1), state)[: len(whole)]
    for a, b in zip(in_two + gradients(in_two, arguments), whole + gradients(whole, arguments), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def check_with_opcheck(case: Case) -> None:
    torch.manual_seed(0)
    torch.library.opcheck(case.overload, (*case.arguments(2, 2), *case.settings.values()))


def match_ties(case: Case, steps: int) -> None:
    """Logits of which many are equal; with one that is NaN, its block is NaN and nothing else is."""
    torch.manual_seed(0)
    logits, *others = (x.detach() for x in case.arguments(2, steps, torch.float32))
    logits = logits.round().clamp(-1, 1)
    assert_matches_reference(case, [x.requires_grad_() for x in (logits, *others)], 1e-5)
    broken = logits.detach().clone()
    broken[0, 3, 1, 2, 4] = float("nan")
    with torch.no_grad():
        states = case.op(broken, *others)
    assert states[0, 4:, 1].isnan().all()
    assert states.isnan().sum() <= states[0, 3:, 1].numel()


def sine_and_cosine(angle: Tensor) -> tuple[Tensor, Tensor]:
    """As a block without decay shows them: h = R(angle) (1, 0)."""
    from mingru.ops.rotation_scan import rotation_scan

    angle = angle[:, None, None]
    zero = torch.zeros(*angle.shape, 2)
    states = rotation_scan(angle, torch.ones_like(angle), zero, zero[:, 0] + torch.tensor([1.0, 0.0]))
    return states[:, 0, 0, 1], states[:, 0, 0, 0]
