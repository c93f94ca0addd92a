"""The loopback W&B service, and the real client told to use it and nothing else."""

from __future__ import annotations

import os

import pytest
import wandb

from mingru.tracking import host
from tests.wandb_server import serve

LEFT_TO_WANDB = ("WANDB_SERVICE", "WANDB_RUN_ID", "WANDB_PROJECT", "WANDB_ENTITY")


@pytest.fixture(autouse=True)
def own_client():
    """A client that remembers nothing of the tests before."""
    forget()
    yield
    forget()


def forget() -> None:
    wandb.teardown()
    host.forget()
    for name in LEFT_TO_WANDB:
        os.environ.pop(name, None)


@pytest.fixture
def service(monkeypatch):
    with serve() as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        yield service
        wandb.teardown()
