"""The workspace, saved to the local service by the library that W&B has for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mingru.settings import PROJECT as ROOT
from mingru.tracking import dashboard
from tests.tracking.runs import PROJECT

pytestmark = pytest.mark.wandb


def make(path: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "scripts/dashboard.py", path]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def project(service):
    summary = {"status": "finished", "fit": 1, "accuracy": {"64": 1.0, "1024": 0.5}}
    service.projects[PROJECT] = [{"id": "a", "config": {"task": "s3", "seed": 0}, "summary": summary}]
    return service


def test_the_workspace_shows_fits_accuracies_and_curves_by_cell(project):
    made = make(PROJECT)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"{project.url}/{PROJECT}?nw=")
    (view,) = project.views
    assert (view["entityName"], view["projectName"], view["displayName"]) == ("lab", "mingru", dashboard.NAME)
    spec = json.loads(view["spec"])["section"]
    shown = {
        section["name"]: [panel["config"]["metrics"] for panel in section["panels"]] for section in spec["panelBankConfig"]["sections"]
    }
    assert shown == {
        "Fit rate by cell": [["fit"], ["steps_to_fit"]],
        "Accuracy by length": [["accuracy.64"], ["accuracy.1024"]],
        "Validation curves by cell": [["validation/accuracy"], ["validation/loss"]],
    }
    (runs,) = spec["runSets"]
    assert [key["name"] for key in runs["grouping"]] == ["group"]
    assert "superseded" in json.dumps(runs["filters"])


def test_each_reason_not_to_make_one_is_one_line(project):
    asked = {
        "must be ENTITY/PROJECT": make("nonsense"),
        "there is no W&B key": make(PROJECT, WANDB_API_KEY=""),
        "Could not find project none": make("lab/none"),
    }
    for reason, made in asked.items():
        assert made.returncode == 1
        assert reason in made.stderr
        assert made.stderr.startswith("dashboard.py: ")
        assert len(made.stderr.splitlines()) == 1


def test_without_the_library_it_says_what_to_install(project):
    blocked = f"import sys; sys.modules['wandb_workspaces'] = None; sys.path.insert(0, {str(ROOT)!r}); from scripts import dashboard; "
    command = [sys.executable, "-c", f"{blocked}sys.exit(dashboard.main([{PROJECT!r}]))"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 1
    assert made.stderr.strip() == "dashboard.py: needs the package wandb-workspaces: pip install wandb-workspaces"
