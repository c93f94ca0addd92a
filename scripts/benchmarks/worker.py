"""A process that holds workloads and times them: python -P -m scripts.benchmarks.worker

One JSON request per line on the standard input, one JSON answer per line on the standard output. What PYTHONPATH holds decides
which package is imported as `mingru`.
"""

import gc
import importlib
import json
import os
import sys
import time
import traceback
from typing import Any, TextIO

import torch


def workload(module: str, function: str, settings: dict[str, Any]) -> Any:
    torch.manual_seed(0)
    return getattr(importlib.import_module(f"scripts.benchmarks.workloads.{module}"), function)(**settings)


def seconds(work: Any, iterations: int, warm: int) -> float:
    """A workload is a function without arguments, called once an iteration; or it has a `timed` of its own."""
    if hasattr(work, "timed"):
        return work.timed(iterations)
    for _ in range(warm):
        work()
    began = time.perf_counter()
    for _ in range(iterations):
        work()
    return time.perf_counter() - began


class Server:
    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def build(self, name: str, threads: int, **what: Any) -> None:
        torch.set_num_threads(threads)
        self._held[name] = workload(**what)

    def time(self, name: str, threads: int, iterations: int, warm: int) -> float:
        torch.set_num_threads(threads)
        return seconds(self._held[name], iterations, warm)

    def call(self, threads: int, **what: Any) -> Any:
        torch.set_num_threads(threads)
        return workload(**what)

    def drop(self) -> None:
        self._held.clear()
        gc.collect()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"result": getattr(self, request.pop("do"))(**request)}
        except Exception as error:
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {error}".strip().splitlines()[0]}


def serve(requests: TextIO, answers: TextIO) -> None:
    server = Server()
    for line in requests:
        answers.write(json.dumps(server.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
