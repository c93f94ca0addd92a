import pytest
import torch

from mingru.ops.block_scan import block_scan
from mingru.ops.delta_scan import delta_scan
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.ops.givens_scan import givens_scan
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.rotation_scan import rotation_scan
from mingru.ops.selection_scan import selection_scan
from tests.ops.cases import Case
from tests.ops.gpu import interpreted

# Small: the interpreter takes about a millisecond for an operation on a tile.
SMALL = [
    Case(diagonal_scan, (3,), 2),
    Case(rotation_scan, (2,), 3),
    Case(givens_scan, (1, 2, 4), 2),
    Case(block_scan, (2, 3), 2),
    Case(delta_scan, (1, 1, 3, 2), 4),
    Case(reflection_scan, (2, 2, 3), 3),
    Case(selection_scan, (2, 3), 2, {"by_source": True}),
    Case(selection_scan, (2, 3), 2, {"by_source": False}),
]
# Several programs, sizes that are no power of two, entries padded or not, every way to cut a tile.
SIZES = [
    Case(diagonal_scan, (33,), 2),
    Case(rotation_scan, (17,), 3),
    Case(givens_scan, (17, 8, 8), 2),
    Case(givens_scan, (1, 3, 6), 2),
    Case(givens_scan, (2, 1, 2), 2),
    Case(givens_scan, (2, 4, 12), 2),
    Case(block_scan, (37, 1), 2),
    *(Case(block_scan, (2, m), 2) for m in range(2, 17)),
    Case(delta_scan, (2, 2, 3, 5), 4),
    Case(delta_scan, (1, 1, 70, 20), 4),
    Case(reflection_scan, (3, 37, 5), 3),
    Case(reflection_scan, (1, 2, 130), 3),
    Case(reflection_scan, (4, 17, 8), 3),
    Case(reflection_scan, (2, 129, 1), 3),
    *(Case(selection_scan, sizes, 2, {"by_source": way}) for sizes in ((37, 1), (37, 4), (5, 5), (2, 8), (1, 17)) for way in (True, False)),
]
every_op = pytest.mark.parametrize("case", SMALL, ids=str)


@every_op
@pytest.mark.parametrize("steps", [1, 2, 3, 16, 17, 65, pytest.param(64, marks=pytest.mark.slow)])
def test_a_kernel_equals_the_loop_over_t_in_values_and_gradients(interpreter, case, steps):
    interpreter(interpreted.match, case, steps)


@pytest.mark.parametrize("case", SIZES, ids=str)
def test_a_kernel_takes_any_size(interpreter, case):
    interpreter(interpreted.match, case, 2)


@every_op
def test_a_kernel_in_float64_is_exact_to_rounding(interpreter, case):
    interpreter(interpreted.match, case, 4, torch.float64, 1e-13)


@every_op
def test_a_kernel_reads_views_of_a_larger_tensor(interpreter, case):
    interpreter(interpreted.match_from_views, case, 3)


@every_op
def test_a_kernel_reads_expanded_arguments(interpreter, case):
    interpreter(interpreted.match_expanded, case, 3)


@every_op
def test_a_state_carries_across_a_cut(interpreter, case):
    interpreter(interpreted.match_across_a_cut, case, 6, 2)


@every_op
def test_torch_finds_nothing_wrong_with_an_op(interpreter, case):
    interpreter(interpreted.check_with_opcheck, case)


@pytest.mark.parametrize("by_source", [True, False])
def test_of_equal_logits_the_first_is_chosen(interpreter, by_source):
    interpreter(interpreted.match_ties, Case(selection_scan, (3, 5), 2, {"by_source": by_source}), 20)


@pytest.mark.parametrize("largest", [1.0, 1e4, 1e8])
def test_sines_and_cosines_are_right_at_any_angle(interpreter, largest):
    angle = torch.cat([largest * (2 * torch.rand(200) - 1), torch.arange(-9, 10) * (torch.pi / 4)])
    sine, cosine = interpreter(interpreted.sine_and_cosine, angle)
    assert (sine - angle.double().sin()).abs().max() < 1e-7
    assert (cosine - angle.double().cos()).abs().max() < 1e-7
