"""One thread, no W&B account, and no silent skips where CI runs."""

import os
import random

import numpy
import pytest
import torch
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig

os.environ["WANDB_MODE"] = "offline"
os.environ["WANDB_SILENT"] = "true"
# No error reports to W&B from tests.
os.environ["WANDB_ERROR_REPORTING"] = "false"


@pytest.fixture(autouse=True)
def seeded_and_single_threaded():
    torch.set_num_threads(1)
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def hydra_forgets():
    """A job that Hydra ran in this process leaves its config behind, whose folder of YAML files the next test would read."""
    yield
    GlobalHydra.instance().clear()
    HydraConfig.instance().cfg = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With CI=true a skipped test is a failure, unless it needs a GPU."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail") and not item.get_closest_marker("gpu"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
