"""A W&B workspace for a project of ours: fit rates and accuracies by cell, and the validation curves of each cell.

It shows what W&B aggregates; the numbers to quote are the report's.
"""

from typing import Any

from mingru.tracking import names, server

NAME = "Fit rates"
BY_CELL: dict[str, Any] = {"groupby_aggfunc": "mean", "groupby_rangefunc": "minmax", "aggregate": True}


def lengths(path: str) -> list[int]:
    """The test lengths of the project's runs. Raises ServerError when W&B can't be read."""
    scores = (run.summary.get("accuracy") for run in server.runs(path))
    return sorted({int(length) for score in scores if isinstance(score, dict) for length in score if length.isdigit()})


def workspace(path: str, test_lengths: list[int]) -> Any:
    """The workspace of `entity/project`, not yet saved. Raises ImportError without the package wandb-workspaces."""
    import wandb_workspaces.reports.v2 as panels
    import wandb_workspaces.workspaces as workspaces
    from wandb_workspaces import expr

    entity, project = path.split("/")
    curves = [panels.LinePlot(title=f"Validation {key}", x="Step", y=[f"validation/{key}"], **BY_CELL) for key in ("accuracy", "loss")]
    sections = {
        "Fit rate by cell": [bars(panels, "Fit rate", "fit"), bars(panels, "Steps to fit", "steps_to_fit")],
        "Accuracy by length": [bars(panels, f"Accuracy at {length}", f"accuracy.{length}") for length in test_lengths],
        "Validation curves by cell": curves,
    }
    return workspaces.Workspace(
        entity=entity,
        project=project,
        name=NAME,
        sections=[workspaces.Section(name=name, panels=content, is_open=True) for name, content in sections.items()],
        settings=workspaces.WorkspaceSettings(max_runs=100),
        runset_settings=workspaces.RunsetSettings(
            # Older attempts of a redone run would count twice.
            filters=[expr.Summary(names.SUPERSEDED) != 1],
            groupby=[expr.Metric("Group")],
        ),
    )


def bars(panels: Any, title: str, key: str) -> Any:
    return panels.BarPlot(title=title, metrics=[key], **BY_CELL)
