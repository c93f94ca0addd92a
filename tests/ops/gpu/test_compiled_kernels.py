"""The interpreter allows what the compiler refuses; the compiler needs no GPU, only its target's name."""

import pytest
import torch

from mingru.ops.block_scan import block_scan
from mingru.ops.delta_scan import delta_scan
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.ops.givens_scan import givens_scan
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.rotation_scan import rotation_scan
from mingru.ops.selection_scan import selection_scan
from tests.ops.cases import CASES, SMALLEST, Case
from tests.ops.gpu import compiled

pytestmark = pytest.mark.slow

# Aligned strides, whole tiles, several warps.
USUAL = [
    Case(diagonal_scan, (64,), 2),
    Case(rotation_scan, (32,), 3),
    Case(givens_scan, (8, 8, 8), 2),
    Case(block_scan, (8, 16), 2),
    Case(block_scan, (1, 64), 2),
    Case(delta_scan, (1, 4, 16, 16), 4),
    Case(delta_scan, (2, 1, 256, 64), 4),
    Case(reflection_scan, (4, 8, 8), 3),
    Case(reflection_scan, (2, 1, 256), 3),
    Case(selection_scan, (8, 8), 2, {"by_source": True}),
    Case(selection_scan, (8, 16), 2, {"by_source": False}),
]


@pytest.mark.parametrize("case", [*CASES, *USUAL], ids=str)
def test_a_kernel_compiles_and_loads_ahead(compiler, case):
    sizes = compiler(compiled.compile_case, case, 2, 64, torch.float32)
    assert len(sizes) == 2
    assert all(size > 0 and ahead for size, ahead in sizes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_kernel_compiles_in_float64(compiler, case):
    assert len(compiler(compiled.compile_case, case, 2, 64, torch.float64)) == 2


@pytest.mark.parametrize("case", SMALLEST, ids=str)
def test_a_kernel_compiles_where_every_size_and_stride_is_one(compiler, case):
    assert len(compiler(compiled.compile_case, case, 1, 1, torch.float32)) == 2
