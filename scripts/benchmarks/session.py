"""The processes of one benchmark, and the settings that all its rows share."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scripts.benchmarks import peers
from scripts.benchmarks.remote import ENVIRONMENT, Held, Worker, WorkError

# With it glibc gives every larger tensor back when it is freed, so that resident memory is what is in use.
RETURN_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "65536"}


@dataclass(frozen=True)
class Work:
    """`scripts.benchmarks.workloads.<module>.<function>(**settings)` in one of the processes.

    `ours` has this project on its path, `peers` the other packages; `memory` and `compiled` are processes of ours with nothing else
    in them. `threads` None means the benchmark's own.
    """

    module: str
    function: str
    settings: dict[str, Any]
    process: Literal["ours", "peers", "memory", "compiled"] = "ours"
    threads: int | None = None


@dataclass
class Options:
    """`sample` is the seconds that one side of one pair takes at least."""

    peers: bool = False
    quick: bool = False
    pairs: int = 7
    threads: int = 2
    sample: float = 0.3


@dataclass
class Session:
    options: Options
    # Called when a pair is done.
    done: Callable[[], None] = lambda: None
    _workers: dict[str, Worker] = field(default_factory=dict)
    _folder: tempfile.TemporaryDirectory | None = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def side(self, work: Work) -> Held:
        threads, worker = self.threads(work), self._worker(work.process)
        name = f"{work.module}.{work.function} {sorted(work.settings.items())}"
        worker.ask("build", name=name, threads=threads, module=work.module, function=work.function, settings=work.settings)
        return Held(worker, name, threads)

    def call(self, work: Work) -> Any:
        """What the workload's function returns, where it is no time."""
        what = {"module": work.module, "function": work.function, "settings": work.settings}
        return self._worker(work.process).ask("call", threads=self.threads(work), **what)

    def drop(self) -> None:
        """Forget what the processes hold, and end those that are no longer fit for the next row."""
        for name, worker in list(self._workers.items()):
            try:
                worker.ask("drop")
                fit = name != "compiled"
            except WorkError:
                fit = False
            if not fit:
                self._workers.pop(name).close()

    def threads(self, work: Work) -> int:
        return work.threads or self.options.threads

    def install_peers(self) -> dict[str, str]:
        """Install the other packages into a folder that goes with the session; their versions."""
        self._folder = tempfile.TemporaryDirectory(prefix="bench-peers-")
        return peers.install(Path(self._folder.name))

    def _worker(self, process: str) -> Worker:
        if process not in self._workers:
            if process == "peers" and self._folder is None:
                self.install_peers()
            paths = [Path(self._folder.name)] if process == "peers" else []
            self._workers[process] = Worker(paths, ENVIRONMENT | (RETURN_MEMORY if process == "memory" else {}))
        return self._workers[process]
