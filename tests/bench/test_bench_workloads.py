"""What is timed computes what it says."""

from __future__ import annotations

import time

import pytest
import torch

from mingru import training
from scripts.benchmarks.suites.shapes import MIXERS, OPS
from scripts.benchmarks.workloads import batches, fits, floor, memory, ops, others, ours

B, T = 2, 5


@pytest.mark.parametrize("op", OPS)
def test_an_op_and_its_loop_give_the_same_gradients(op):
    gradients = []
    for function in (ops.op, ops.loop):
        torch.manual_seed(0)
        gradients.append(function(op, B, T)())
    for ours_, loops in zip(*gradients, strict=True):
        torch.testing.assert_close(ours_, loops, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("op", "state"), [(op, state) for op in ("diagonal_scan", "givens_scan", "delta_scan") for state in (64, 256, 4096)]
)
def test_an_op_has_the_state_that_was_asked_for(op, state):
    assert ops.INPUTS[op](B, T, state)[-1][0].numel() == state


def forbidden(*arguments, **more):
    raise AssertionError("an op was called")


@pytest.mark.parametrize("name", MIXERS)
def test_a_floor_runs_without_the_op_and_moves_every_weight(name, monkeypatch):
    built = []
    original = ours.stack
    monkeypatch.setattr(ours, "stack", lambda layers: built.append(original(layers)) or built[-1])
    step = ours.floor_step([name], B, T)
    before = {key: value.clone() for key, value in built[0].state_dict().items()}
    for module, op in ((module, op) for module in floor.mixer_modules() for op in floor.OPS if hasattr(module, op)):
        monkeypatch.setattr(module, op, forbidden)
    step()
    moved = {key for key, value in built[0].state_dict().items() if not torch.equal(value, before[key])}
    assert moved >= {key for key, _ in built[0].named_parameters()}


def test_the_ops_are_back_when_a_floor_has_run():
    before = [vars(module).copy() for module in floor.mixer_modules()]
    ours.floor_step(["signed", "givens"], B, T)()
    assert [vars(module) for module in floor.mixer_modules()] == before


def test_a_step_without_an_op_has_no_floor():
    with pytest.raises(RuntimeError, match="no mixer of this step calls an op"):
        floor.without_ops(lambda: None)


@pytest.mark.parametrize("name", MIXERS)
def test_steps_layers_and_streams_run(name):
    ours.training_step([name], B, T)()
    assert all(gradient is not None for gradient in ours.layer(name, B, T)())
    for stream in (ours.stack_stream(name), ours.layer_stream(name)):
        stream()
        stream()


def test_a_step_that_cannot_be_compiled_is_not_measured_as_if_it_were(monkeypatch):
    monkeypatch.setattr(training.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler is found"):
        ours.training_step(["signed"], B, T, compiled=True)


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_torch_layers_run(kind):
    assert all(gradient is not None for gradient in others.recurrent(kind, B, T)())
    others.recurrent_stream(kind)()


def test_what_autograd_keeps_does_not_count_weights():
    linear = torch.nn.Linear(64, 32)
    with memory.saved() as kept:
        linear(torch.randn(8, 64, requires_grad=True)).exp()
    assert sum(kept.values()) == 4 * (8 * 64 + 8 * 32)


def test_the_recurrence_is_weighed_by_what_its_op_takes_and_gives():
    sizes: list[int] = []
    with floor.replaced(floor.mixer_modules(), lambda name, op: memory.weighed(op, sizes)):
        ours.layer("signed", B, T)()
    assert sizes == [4 * 64 * (3 * B * T + B)]


@pytest.mark.skipif(not memory.CLEAR.exists(), reason="peak memory is read from /proc")
def test_the_peak_is_what_a_step_adds_at_most():
    size = 64 * 2**20
    assert memory.peak(lambda: torch.ones(size // 4)) == pytest.approx(size, rel=0.1)


def test_a_batch_is_a_new_one_every_time():
    produce = batches.production("s3", "signed", B, T)
    assert not torch.equal(produce().inputs, produce().inputs)
    batches.training_step("s3", "signed", B, T)()


def test_a_fit_is_timed_over_its_steps_alone():
    began = time.perf_counter()
    seconds = fits.fit("s3", "signed", B, 4).timed(3)
    assert 0 < seconds < time.perf_counter() - began
