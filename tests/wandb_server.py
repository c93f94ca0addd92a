"""A loopback stand-in for the W&B service that the real client logs in to, streams to and lists from, with faults on demand."""

from __future__ import annotations

import base64
import gzip
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.wandb_store import API_KEY, Store

# A call is known by a word of its GraphQL document; the first one that is found counts.
CALLS = {
    "runCount": "runs",
    "RunResumeStatus": "resume",
    "upsertBucket": "upsert",
    "createRunFiles": "files",
    "upsertView": "view",
    "upsertModel": "project",
    "run(name: $name)": "run",
    "viewer": "viewer",
}


@dataclass
class Fault:
    """`how` is a status to answer with, "drop" (close the connection without an answer) or "hang" (answer when the test is over)."""

    call: str
    how: int | str
    times: int
    after: int = 0


@dataclass
class Service(Store):
    """The store behind a port, the calls it saw, and what is to go wrong."""

    seen: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    url: str = ""
    cut: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def environment(self) -> dict[str, str]:
        """Real client, this server and no other: error reports to W&B's makers are off."""
        return {
            "WANDB_MODE": "online",
            "WANDB_BASE_URL": self.url,
            "WANDB_API_KEY": API_KEY,
            "WANDB_ERROR_REPORTING": "false",
            "NO_PROXY": "127.0.0.1",
        }

    def fail(self, call: str, how: int | str, times: int = 1, after: int = 0) -> None:
        """Let `times` calls of a kind go wrong, after `after` good ones: runs, run, upsert, stream, viewer, files, resume, probe or any."""
        self.faults.append(Fault(call, how, times, after))

    def fault(self, call: str) -> int | str | None:
        """What goes wrong with this call, counted off."""
        with self.lock:
            self.seen.append(call)
            if self.cut:
                return "drop"
            for fault in self.faults:
                if not fault.times or fault.call not in (call, "any"):
                    continue
                if fault.after:
                    fault.after -= 1
                    continue
                fault.times -= 1
                return fault.how
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def service(self) -> Service:
        return self.server.service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path.endswith("/graphql"):
            request = json.loads(body)
            call = next((call for word, call in CALLS.items() if word in request["query"]), "other")
            answer = lambda: {"data": self.service.answer(call, request.get("variables") or {}, self.service.url)}  # noqa: E731
        elif self.path.endswith("/file_stream"):
            call = "stream"
            answer = lambda: self._stream(json.loads(body))  # noqa: E731
        else:
            # What wandb counts about its own use.
            call, answer = "telemetry", dict
        self._answer(call, answer, locked=call != "telemetry")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer("storage", dict, locked=False)

    def do_GET(self) -> None:
        self._answer("probe", dict, locked=False)

    do_HEAD = do_GET

    def _stream(self, chunk: dict[str, Any]) -> dict[str, Any]:
        _, _, entity, project, run_id, _ = self.path.split("/")
        self.service.stream(f"{entity}/{project}", run_id, chunk)
        return {}

    def _answer(self, call: str, answer: Any, locked: bool) -> None:
        how = self.service.fault(call)
        if how == "hang":
            self.service.over.wait()
            how = "drop"
        if how == "drop":
            # A reset, as from a machine that has lost the connection.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
        elif how is not None:
            self._send(how, {"errors": [{"message": f"fault {how}"}]})
        elif locked and base64.b64encode(f"api:{API_KEY}".encode()).decode() not in self.headers.get("Authorization", ""):
            self._send(401, {"errors": [{"message": "invalid key"}]})
        else:
            self._send(200, answer())

    def _send(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """A client that goes away in the middle is part of the tests."""


@contextmanager
def serve() -> Iterator[Service]:
    """The service on a free loopback port, in a thread of its own."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.service = Service(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.service
    finally:
        server.service.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
