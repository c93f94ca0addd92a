"""What the loopback W&B service keeps, and its answers to the calls that the real client makes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

API_KEY = "0123456789abcdef0123456789abcdef01234567"
ENTITY = "lab"
VIEWER = {
    "id": "VXNlcjox",
    "username": "tester",
    "name": "Tester",
    "email": "tester@example.org",
    "entity": ENTITY,
    "admin": False,
    "flags": "{}",
    "deletedAt": None,
    "teams": {"edges": []},
    "apiKeys": {"edges": []},
}


def run_key(project: str, run_id: str) -> str:
    return base64.b64encode(f"Run:v1:{run_id}:{project}".encode()).decode()


@dataclass
class Store:
    """`projects` maps "entity/project" to its runs, oldest first, each {"id", "config", "summary", "state", "tags", "history"...}.

    `history` maps a line's number to its row: a line that is sent again takes the place of the former one.
    """

    projects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    views: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def run(self, path: str, run_id: str) -> dict[str, Any] | None:
        return next((run for run in self.projects.get(path, []) if run["id"] == run_id), None)

    def answer(self, call: str, variables: Mapping[str, Any], url: str) -> dict[str, Any]:
        answers = {
            "runs": self._runs,
            "run": self._run,
            "resume": self._resume,
            "upsert": self._upsert,
            "files": lambda variables: _upload_addresses(variables, url),
            "view": self._view,
            "project": lambda _: {"upsertModel": {"model": {"name": variables.get("name"), "entityName": ENTITY}, "inserted": True}},
            "viewer": lambda _: {"viewer": VIEWER, "serverInfo": {"features": []}},
        }
        with self.lock:
            return answers.get(call, lambda _: {"serverInfo": {"features": []}})(variables)

    def _runs(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        runs = self.projects.get(_path(variables))
        if runs is None:
            return {"project": None}
        first = int(variables.get("cursor") or 0)
        page = runs[first : first + variables["perPage"]]
        edges = [{"node": _node(_path(variables), run), "cursor": str(first + i + 1)} for i, run in enumerate(page)]
        more = first + len(page) < len(runs)
        return {
            "project": {
                "internalId": "UHJvamVjdDox",
                "runCount": len(runs),
                "readOnly": False,
                "runs": {"edges": edges, "pageInfo": {"endCursor": str(first + len(page)), "hasNextPage": more}},
            }
        }

    def _run(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        run = self.run(_path(variables), variables["name"])
        return {"project": {"run": run and _node(_path(variables), run)}}

    def _resume(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        path = _path(variables)
        run = self.run(path, variables["name"])
        bucket = run and {
            **{key: _node(path, run)[key] for key in ("id", "name", "summaryMetrics", "displayName", "historyLineCount", "config", "tags")},
            "logLineCount": 0,
            "eventsLineCount": 0,
            "historyTail": json.dumps([json.dumps(run["history"][max(run["history"])])] if run.get("history") else []),
            "eventsTail": "[]",
            "notes": "",
            "wandbConfig": json.dumps({"t": 1}),
        }
        return {"model": {"id": "TW9kZWw=", "name": path, "entity": {"id": "RW50aXR5", "name": ENTITY}, "bucket": bucket}}

    def _upsert(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        path, run = self._named(variables)
        inserted = run is None
        if run is None:
            run = {"id": variables["name"], "config": {}, "summary": {}, "tags": [], "history": {}, "state": "running"}
            self.projects.setdefault(path, []).append(run)
        named = {"displayName": "name", "display_name": "name", "groupName": "group", "jobType": "job_type", "tags": "tags"}
        run.update({key: variables[name] for name, key in named.items() if variables.get(name) is not None})
        if variables.get("config"):
            run["config"] = {key: item["value"] for key, item in json.loads(variables["config"]).items()}
        if variables.get("summaryMetrics"):
            run["summary"] = json.loads(variables["summaryMetrics"])
        entity, project = path.split("/")
        place = {"id": "UHJvamVjdA==", "name": project, "entity": {"id": "RW50aXR5", "name": entity}}
        return {"upsertBucket": {"bucket": {**_node(path, run), "project": place}, "inserted": inserted}}

    def _named(self, variables: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
        if variables.get("id"):
            keyed = ((path, run) for path, runs in self.projects.items() for run in runs if run_key(path, run["id"]) == variables["id"])
            return next(keyed)
        return _path(variables), self.run(_path(variables), variables["name"])

    def stream(self, path: str, run_id: str, chunk: Mapping[str, Any]) -> None:
        """Take in a part of a run's lines, and its end."""
        with self.lock:
            run = self.run(path, run_id)
            files = chunk.get("files") or {}
            history = files.get("wandb-history.jsonl", {"offset": 0, "content": []})
            for i, line in enumerate(history["content"]):
                run["history"][history["offset"] + i] = json.loads(line)
            if "wandb-summary.json" in files:
                run["summary"] = json.loads(files["wandb-summary.json"]["content"][-1])
            run["state"] = "running"
            if chunk.get("complete"):
                run["state"] = "failed" if chunk.get("exitcode") else "finished"
            elif chunk.get("preempting"):
                run["state"] = "preempting"

    def _view(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        self.views.append(dict(variables))
        view = {"id": "Vmlldzox", "name": variables.get("name"), "displayName": variables.get("displayName"), "spec": variables.get("spec")}
        return {"upsertView": {"view": view, "inserted": True}}


def _path(variables: Mapping[str, Any]) -> str:
    return f"{variables.get('entity') or variables.get('entityName') or ENTITY}/{variables.get('project') or variables.get('projectName')}"


def _upload_addresses(variables: Mapping[str, Any], url: str) -> dict[str, Any]:
    files = [{"name": name, "uploadUrl": f"{url}/storage/{name}"} for name in variables["files"]]
    return {"createRunFiles": {"runID": "UnVu", "uploadHeaders": [], "files": files}}


def _node(path: str, run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": run_key(path, run["id"]),
        "projectId": 1,
        "tags": run.get("tags", []),
        "name": run["id"],
        "displayName": run.get("name", run["id"]),
        "sweepName": None,
        "state": run.get("state", "finished"),
        "config": json.dumps({key: {"value": value, "desc": None} for key, value in run["config"].items()}),
        "group": run.get("group"),
        "jobType": run.get("job_type", "train"),
        "commit": None,
        "readOnly": False,
        "createdAt": "2026-01-01T00:00:00Z",
        "heartbeatAt": "2026-01-01T00:01:00Z",
        "description": "",
        "notes": "",
        "systemMetrics": "{}",
        "summaryMetrics": json.dumps(run["summary"]),
        "historyLineCount": len(run.get("history", {})),
        "user": {"name": "Tester", "username": "tester"},
        "historyKeys": None,
    }
