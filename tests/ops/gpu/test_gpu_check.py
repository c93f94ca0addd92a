"""What of scripts/gpu_check.py runs without a GPU: its logic on the CPU's kernels, and its refusal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from scripts.gpu import check, times, values
from scripts.gpu.arguments import OPS, Shape
from scripts.gpu.table import Row, markdown

PROJECT = Path(__file__).parents[3]
SMALL = {
    "diagonal_scan": (5,),
    "rotation_scan": (3,),
    "givens_scan": (2, 3, 4),
    "block_scan": (2, 3),
    "delta_scan": (2, 2, 3, 4),
    "reflection_scan": (2, 2, 3),
    "selection_scan": (2, 3),
}
every_op = pytest.mark.parametrize("op", OPS)


def small(op, steps=3):
    return Shape(op, 2, steps, SMALL[op])


def run(*words, **environment):
    command = [sys.executable, str(PROJECT / "scripts" / "gpu_check.py"), *words]
    return subprocess.run(command, env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment}, capture_output=True, text=True)


def test_without_a_cuda_device_it_says_so_in_one_line_and_needs_torch_alone(tmp_path):
    for name in ("hydra", "lightning", "numba", "wandb", "omegaconf", "pandas", "filelock", "jaxtyping"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('gpu_check.py must not need this')")
    done = run(PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "gpu_check.py: torch sees no CUDA device here, so nothing was checked\n"


@every_op
def test_the_shapes_to_check_cover_every_op(op):
    assert {shape.op for shape in values.SHAPES} == {shape.op for shape in values.WIDE_SHAPES} == set(OPS)
    steps = {shape.steps for shape in values.SHAPES if shape.op == op}
    assert 1 in steps
    assert any(t % 16 for t in steps if t > 64)
    assert op in {shape.op for shape in times.COMPILED}


@every_op
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_right_kernel_passes(op, dtype):
    outcome = values.compare(small(op), dtype, "cpu")
    assert outcome.right
    assert str(outcome).startswith("right")


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (lambda decay, drive, state: 1.001 * torch.addcmul(drive, decay, state[:, None]), "relative error"),
        (lambda decay, drive, state: drive + float("nan") * decay * state[:, None], "relative error inf"),
        (lambda decay, drive, state: drive + decay * state[:, None] * (1 + 1e-6 * torch.rand(())), "a second run gave another result"),
        (lambda decay, drive, state: torch.nonsense, "AttributeError"),
    ],
)
def test_a_wrong_kernel_is_told_apart(kernel, said, monkeypatch):
    monkeypatch.setattr("mingru.ops.diagonal_scan.diagonal_scan", kernel)
    outcome = values.compare(small("diagonal_scan", steps=1), torch.float32, "cpu")
    assert not outcome.right
    assert str(outcome).startswith("WRONG")
    assert said in str(outcome)


def test_one_wrong_value_or_a_late_one_makes_the_check_fail(monkeypatch, capsys):
    found = [values.Outcome(small(op), torch.float32, 1e-6) for op in OPS]
    monkeypatch.setattr(values, "outcomes", lambda device: iter(found))
    assert check.check_values("cpu", check.Clock())
    monkeypatch.setattr(check, "VALUES", -1)
    assert not check.check_values("cpu", check.Clock())
    assert "not reached in time" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.setattr(values, "outcomes", lambda device: iter([*found, values.Outcome(small(OPS[0]), torch.float32, 1e-3)]))
    assert not check.check_values("cpu", check.Clock())


@every_op
def test_arguments_are_views_of_one_projection(op):
    arguments = small(op).arguments("cpu")
    assert any(not argument.is_contiguous() for argument in arguments)
    assert all(map(torch.equal, arguments, small(op).arguments("cpu")))


@pytest.mark.parametrize(
    ("shape", "numbers"),
    [
        # Forward: decay, drive, state in, states out. Backward: gradient, decay, state, states in, three gradients out.
        (Shape("diagonal_scan", 2, 3, (5,)), (30 + 30 + 10 + 30) + (30 + 30 + 10 + 30) + (30 + 30 + 10)),
        # query 48, key 96, value 96, strength 12, state 32, decay 6: 290 in, 48 out.
        (Shape("delta_scan", 1, 3, (2, 2, 8, 8)), (48 + 96 + 96 + 12 + 128 + 6) * 3 + 2 * 48),
        # key 48, strength 12, drive 24, state 8, decay 6: 98 in, 24 out.
        (Shape("reflection_scan", 1, 3, (2, 2, 4)), (98 + 24) + (24 + 74 + 24) + 98),
        # angle 30, scale 30, drive 60, state 20, decay 30.
        (Shape("rotation_scan", 2, 3, (5,)), (170 + 60) + (60 + 110 + 60) + 170),
    ],
)
def test_the_floor_counts_each_number_once_in_each_direction(shape, numbers):
    assert times.moved_bytes(shape, shape.arguments("cpu")) == 4 * numbers


def test_every_op_is_measured_and_what_fails_is_left_out(capsys, monkeypatch):
    shapes = [*map(small, OPS), Shape("givens_scan", 2, 3, (1, 1, 3))]
    monkeypatch.setattr(times, "USUAL", tuple(shapes[:1]))
    rows = check.measure("cpu", check.Clock(), shapes, copied=2**12)
    assert [row.shape.op for row in rows] == list(OPS)
    assert all(row.op > 0 and row.floor > 0 for row in rows)
    assert [row.gru is None for row in rows] == [False] + [True] * (len(OPS) - 1)
    assert "not measured: givens_scan B=2 T=3 1x1x3" in capsys.readouterr().out


def test_the_table_has_a_row_for_each_shape_and_gaps_for_what_is_unknown():
    rows = [Row(small("givens_scan"), 2e-4, 1e-4, compiled=8e-4, gru=None), Row(small("delta_scan"), 1e-5, 5e-6)]
    header, _, first, second = markdown(rows).splitlines()
    assert header.count("|") == first.count("|") == second.count("|")
    assert first == "| givens_scan B=2 T=3 2x3x4 | 200 | 100 | 2.00 | 4.00 |  |"
    assert second == "| delta_scan B=2 T=3 2x2x3x4 | 10 | 5.0 | 2.00 |  |  |"


def test_a_definition_that_does_not_compile_in_time_is_left_out(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, time\nif sys.argv[2] == 'delta_scan': time.sleep(60)\nif sys.argv[2] != 'block_scan': print(0.25)")
    found = times.all_compiled(script, tmp_path / "lock", 5)
    assert {shape.op: seconds for shape, seconds in found.items()} == {
        "diagonal_scan": 0.25,
        "rotation_scan": 0.25,
        "givens_scan": 0.25,
        "reflection_scan": 0.25,
        "selection_scan": 0.25,
    }
