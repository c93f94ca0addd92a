import logging

import jaxtyping
import pytest
import torch

import train
from mingru import training
from tests.composed import TINY, composed


def test_without_a_compiler_a_run_goes_on_with_one_warning(monkeypatch, caplog):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    stack = train.build_stack(composed(*TINY))
    with caplog.at_level(logging.WARNING):
        training.compile_stack(stack)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert stack._compiled_call_impl is None


@pytest.fixture
def unchecked_shapes():
    """Dynamo cannot trace the checks that the tests' import hook puts around every function."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("mixer", ["log", "rotation", "givens", "delta_64", "reflection", "selection"])
def test_a_compiled_stack_gives_the_same_numbers_at_any_length(mixer):
    eager, compiled = (train.build_stack(composed(*TINY, f"mixer={mixer}")) for _ in range(2))
    compiled.load_state_dict(eager.state_dict())
    training.compile_stack(compiled)
    for length in (8, 16, 10, 32):
        tokens = torch.randint(6, (3, length))
        outputs = [stack(tokens)[0] for stack in (eager, compiled)]
        torch.testing.assert_close(outputs[1], outputs[0], atol=1e-5, rtol=1e-5)
        for stack, output in zip((eager, compiled), outputs, strict=True):
            stack.zero_grad()
            output.logsumexp(-1).mean().backward()
        for ours, theirs in zip(compiled.parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-4)
