"""How long the rest of a sweep will take."""

import time
from collections.abc import Sequence
from statistics import mean

from mingru.sweep.request import Cell, Request

# A run at work and the share of its steps that is done.
Running = tuple[Request, float]


class Pace:
    """Learns from the runs that ended how long one of their cell takes; of a cell that is new it expects the average."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.began = time.monotonic()
        self._started: dict[Request, float] = {}
        self._took: dict[Cell, list[float]] = {}

    @property
    def gone(self) -> float:
        """Seconds since the sweep began."""
        return time.monotonic() - self.began

    def started(self, request: Request) -> None:
        self._started[request] = time.monotonic()

    def ended(self, request: Request) -> float | None:
        """Seconds that the run took, None for one that this sweep only waited for."""
        began = self._started.pop(request, None)
        if began is None:
            return None
        took = time.monotonic() - began
        self._took.setdefault(request.cell, []).append(took)
        return took

    def left(self, waiting: Sequence[Request], running: Sequence[Running]) -> float | None:
        """Seconds until everything is done, None while there is nothing to judge by."""
        each = {cell: mean(took) for cell, took in self._took.items()}
        for request, share in running:
            if share > 0:
                each.setdefault(request.cell, self._since(request) / share)
        if not each:
            return None
        average = mean(each.values())
        at_work = [max(each.get(request.cell, average) - self._since(request), 0.0) for request, _ in running]
        to_do = sum(at_work) + sum(each.get(request.cell, average) for request in waiting)
        return max([to_do / self.workers, *at_work])

    def _since(self, request: Request) -> float:
        return time.monotonic() - self._started[request]
