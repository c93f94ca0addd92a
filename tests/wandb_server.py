"""A loopback stand-in for the W&B service: the GraphQL calls that the real client makes to log in and to list runs."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API_KEY = "0123456789abcdef0123456789abcdef01234567"
VIEWER = {
    "id": "VXNlcjox",
    "username": "tester",
    "name": "Tester",
    "email": "tester@example.org",
    "entity": "lab",
    "admin": False,
    "flags": "{}",
    "deletedAt": None,
    "teams": {"edges": []},
    "apiKeys": {"edges": []},
}


@dataclass
class Service:
    """The projects the server knows, and the requests it saw.

    `projects` maps "entity/project" to its runs, oldest first, each {"id", "config", "summary", "state", ...}.
    `failures` is how many of the coming run queries answer 500 before they work again.
    """

    projects: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failures: int = 0
    seen: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def environment(self) -> dict[str, str]:
        return {"WANDB_BASE_URL": self.url, "WANDB_API_KEY": API_KEY}

    def answer(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        if "runCount" in query:
            self.seen.append("runs")
            return self._runs(variables)
        if "viewer" in query:
            self.seen.append("viewer")
            return {"viewer": VIEWER, "serverInfo": {"features": []}}
        self.seen.append("other")
        return {"serverInfo": {"features": []}}

    def _runs(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        runs = self.projects.get(f"{variables['entity']}/{variables['project']}")
        if runs is None:
            return {"project": None}
        first = int(variables.get("cursor") or 0)
        page = runs[first : first + variables["perPage"]]
        edges = [{"node": _node(run), "cursor": str(first + i + 1)} for i, run in enumerate(page)]
        more = first + len(page) < len(runs)
        return {
            "project": {
                "internalId": "UHJvamVjdDox",
                "runCount": len(runs),
                "readOnly": False,
                "runs": {"edges": edges, "pageInfo": {"endCursor": str(first + len(page)), "hasNextPage": more}},
            }
        }


def _node(run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": base64.b64encode(f"Run:v1:{run['id']}".encode()).decode(),
        "projectId": 1,
        "tags": [],
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
        "historyLineCount": 0,
        "user": {"name": "Tester", "username": "tester"},
        "historyKeys": None,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        service: Service = self.server.service
        # telemetry goes elsewhere
        if not self.path.endswith("/graphql"):
            return self._send(200, {})
        if base64.b64encode(f"api:{API_KEY}".encode()).decode() not in self.headers.get("Authorization", ""):
            return self._send(401, {"errors": [{"message": "invalid key"}]})
        request = json.loads(body)
        if "runCount" in request["query"] and service.failures:
            service.failures -= 1
            return self._send(500, {"errors": [{"message": "try again"}]})
        return self._send(200, {"data": service.answer(request["query"], request.get("variables") or {})})

    def do_GET(self) -> None:
        self._send(200, {})

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve() -> Iterator[Service]:
    """The service on a free loopback port, in a thread of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.service = Service(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
