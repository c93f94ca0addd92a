"""Online, offline or off: what the config, the environment and the key make of it, without asking anyone."""

from __future__ import annotations

import pytest

from mingru.tracking import host
from tests.wandb_store import API_KEY


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine without a key, a netrc or a word on W&B in its environment."""
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    return monkeypatch


@pytest.mark.parametrize("wanted", ["auto", "online", "offline"])
def test_without_a_key_every_run_is_offline(machine, wanted):
    assert host.mode(wanted) == "offline"


@pytest.mark.parametrize(("wanted", "mode"), [("auto", "online"), ("online", "online"), ("offline", "offline")])
def test_with_a_key_the_config_decides(machine, wanted, mode):
    machine.setenv("WANDB_API_KEY", API_KEY)
    assert host.mode(wanted) == mode


def test_a_key_of_the_host_in_netrc_counts(machine, tmp_path):
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1\nlogin user\npassword {API_KEY}\n", encoding="utf-8")
    assert host.mode("auto") == "online"


@pytest.mark.parametrize(("said", "mode"), [("offline", "offline"), ("dryrun", "offline"), ("disabled", "disabled"), ("online", "online")])
def test_the_environment_decides_where_the_config_leaves_it_open(machine, said, mode):
    machine.setenv("WANDB_API_KEY", API_KEY)
    machine.setenv("WANDB_MODE", said)
    assert host.mode("auto") == mode
    assert host.mode("online") == "online"


def test_a_refusal_is_believed_for_a_while_and_by_the_other_workers(machine, tmp_path):
    assert "does not answer" in host.refusal(tmp_path, retry_seconds=60)
    asked = []
    machine.setattr(host.requests, "head", lambda *arguments, **options: asked.append(arguments) or pytest.fail("asked"))
    assert "does not answer" in host.refusal(tmp_path, retry_seconds=60)
    host.forget()
    assert "does not answer" in host.refusal(tmp_path, retry_seconds=60)
    (tmp_path / host.NOTE).write_text("{", encoding="utf-8")
    host.forget()
    with pytest.raises(pytest.fail.Exception):
        host.refusal(tmp_path, retry_seconds=60)
