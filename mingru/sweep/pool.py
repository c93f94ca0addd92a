"""Worker processes that outlive each other: each has a pipe of its own, so that the death of one is its own affair.

Pools whose workers share a queue lose more: joblib's and the standard library's end with their first dead worker, and pebble's with one
that dies between taking a job and saying so. None of them notices a job that calls `os._exit(0)`.
"""

import contextlib
import multiprocessing
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from mingru.sweep import worker

# A worker that is told to end and has nothing to do needs a moment at most.
PATIENCE = 5.0
STOPPED = "stopped by"


@dataclass(eq=False)
class Worker:
    process: BaseProcess
    connection: Connection
    ready: bool = False
    job: Any = None
    began: bool = False
    share: float = 0.0


@dataclass(frozen=True)
class Event:
    """What a worker told (its `what` and `value`), or its death, and the job it was at.

    "died" with what it died of, or "unstarted" when it died before it looked at the job it was given.
    """

    worker: Worker
    what: str
    value: Any
    job: Any


class Pool:
    """Processes that do `work`, a function of one job; spawned, since torch and numba don't survive a fork."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self._context = multiprocessing.get_context("spawn")
        self.workers: list[Worker] = []

    def start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=worker.serve, args=(theirs, self._work), daemon=True, name="mingru worker")
        process.start()
        theirs.close()
        self.workers.append(Worker(process, ours))

    def idle(self) -> list[Worker]:
        return [each for each in self.workers if each.ready and each.job is None]

    def give(self, to: Worker, job: Any, message: Any) -> None:
        """Have a worker work on `message`, which `events` call `job`. If it is dead by now they will say so."""
        to.job, to.began, to.share = job, False, 0.0
        with contextlib.suppress(OSError):
            to.connection.send(message)

    def events(self, timeout: float) -> list[Event]:
        """What happened since, or within `timeout` seconds."""
        by_handle = {handle: each for each in self.workers for handle in (each.connection, each.process.sentinel)}
        heard = {id(by_handle[handle]): by_handle[handle] for handle in wait(list(by_handle), timeout)}
        return [event for each in heard.values() for event in self._listen(each)]

    def _listen(self, to: Worker) -> list[Event]:
        events, dead = [], False
        try:
            while to.connection.poll():
                events.append(self._understand(to, *to.connection.recv()))
        except (EOFError, OSError):
            dead = True
        if dead or not to.process.is_alive():
            events.append(self._bury(to))
        return events

    def _understand(self, to: Worker, what: str, value: Any) -> Event:
        event = Event(to, what, value, to.job)
        to.ready = to.ready or what == "ready"
        to.began = to.began or what == "began"
        if what == "share":
            to.share = value
        if what == "done":
            to.job = None
        return event

    def _bury(self, dead: Worker) -> Event:
        dead.process.join(PATIENCE)
        dead.connection.close()
        self.workers.remove(dead)
        what = "unstarted" if dead.job is not None and not dead.began else "died"
        return Event(dead, what, cause_of_death(dead.process.exitcode), dead.job)

    def ask_to_stop(self) -> None:
        """Have every run checkpoint and end; a worker without one ends at once."""
        for each in self.workers:
            if each.process.is_alive():
                each.process.terminate()

    def close(self) -> None:
        """End the workers, those that are at work too."""
        for each in self.workers:
            each.connection.close()
            if each.job is not None or not each.ready:
                each.process.kill()
        for each in self.workers:
            each.process.join(PATIENCE)
            if each.process.is_alive():
                each.process.kill()
        self.workers.clear()


def was_asked_to(cause: str) -> bool:
    """Whether a worker that died of this was only told to stop: it did, or the signal met it where nothing waits for one.

    A group's signal and `ask_to_stop` reach a worker twice, so the second may come when its run has written its checkpoint and is gone.
    """
    return cause.startswith(STOPPED) or cause == cause_of_death(-signal.SIGTERM)


def cause_of_death(code: int | None) -> str:
    """What an exit code says: negative for a signal, and 128 + the signal for a run that was asked to stop and did."""
    if code is None:
        return "its worker does not answer"
    number = -code if code < 0 else code - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"its worker exited with code {code}"
    if code > 0:
        return f"{STOPPED} {name}"
    return f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
