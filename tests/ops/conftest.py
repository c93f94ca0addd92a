"""Memory that a kernel forgets to fill is NaN in every test of this folder."""

import pytest
import torch


@pytest.fixture(autouse=True)
def uninitialised_memory_is_nan():
    torch.set_deterministic_debug_mode("error")
    assert torch.utils.deterministic.fill_uninitialized_memory
    assert torch.empty(1).isnan().all()
    yield
    torch.set_deterministic_debug_mode("default")
