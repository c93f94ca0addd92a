"""Signals that ask a run to stop: it checkpoints at the next step boundary, so that the same command goes on from there.

Ctrl-C, the end of a terminal, and what Slurm sends before it takes a job's machine away are one thing here. While `deferred` holds they
are only noted; elsewhere they end the run where it stands, as Ctrl-C does.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)]


class Interrupted(SystemExit):
    """A run or a sweep that was asked to stop; uncaught it ends the process with 128 + the signal's number, as shells count."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        self.signal = signal.Signals(number)

    def __str__(self) -> str:
        return f"stopped by {self.signal.name}"


class _State:
    asked: int | None = None
    deferring = False


def asked() -> int | None:
    """The signal that was noted, if any."""
    return _State.asked


def stop_if_asked() -> None:
    if _State.asked is not None:
        raise Interrupted(_State.asked)


def _note(number: int, frame: FrameType | None) -> None:
    impatient = number == signal.SIGINT and _State.asked == signal.SIGINT
    _State.asked = number
    if impatient or not _State.deferring:
        raise Interrupted(number)


def listen() -> dict[int, Any]:
    """Take the signals over; returns the handlers that had them. Signals that are ignored (nohup) stay ignored."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    heard = (number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN)
    return {number: signal.signal(number, _note) for number in heard}


@contextmanager
def listening() -> Iterator[None]:
    """Listen, then give the signals back. One that came is passed on to its former handler once everything here is closed.

    In a Slurm job that handler is submitit's, which puts the job back into the queue.
    """
    former = listen()
    outermost = _note not in former.values()
    if outermost:
        _State.asked = None
    try:
        yield
    except Interrupted as interrupted:
        give_back(former)
        handler = former.get(interrupted.signal)
        if outermost and callable(handler) and handler is not signal.default_int_handler:
            handler(interrupted.signal, None)
        raise
    finally:
        give_back(former)


def give_back(former: dict[int, Any]) -> None:
    for number, handler in former.items():
        signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def deferred() -> Iterator[None]:
    """Note the signals and act on them at `stop_if_asked`, at the latest when this ends. A second Ctrl-C acts at once."""
    _State.deferring, before = True, _State.deferring
    try:
        yield
    finally:
        _State.deferring = before
    stop_if_asked()
