"""How far the run of this process is, told to whoever listens: in a worker, the sweep's display."""

from collections.abc import Callable

_listeners: list[Callable[[float], None]] = []


def listen(listener: Callable[[float], None]) -> None:
    _listeners.append(listener)


def beat(share: float) -> None:
    """`share` of the training steps are done, from 0 to 1."""
    for listener in _listeners:
        listener(share)
