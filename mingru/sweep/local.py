"""The local launcher: the runs of a sweep in worker processes on this machine."""

import functools
import os
import signal
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import torch
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

from mingru.sweep import interruption, records, worker
from mingru.sweep.claim import standing
from mingru.sweep.display import Display, display
from mingru.sweep.ledger import NOT_STARTED, Ledger
from mingru.sweep.outcome import Outcome, outcome
from mingru.sweep.patience import Lost
from mingru.sweep.pool import Event, Pool, Worker, was_asked_to
from mingru.sweep.request import Request, Requests

# Seconds between two looks at the signals, at the locks of other sweeps and at the clock.
TICK = 0.2
# Workers that die before they are ready, one after the other, until there is no point in starting more.
STILLBORN = 3


def cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores this process may use: those it is bound to, and no more than its container is granted."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        granted, period = quota.read_text().split()
    except (OSError, ValueError):
        return bound
    return bound if granted == "max" else min(bound, max(1, round(int(granted) / int(period))))


def pool_size(requests: Sequence[Request], workers: int | None, workers_per_gpu: int) -> int:
    """`workers` if given; else one worker for each of the cores' threads, or what a GPU is said to bear."""
    configs = [request.cell.config for request in requests]
    on_gpu = torch.cuda.is_available() and any(config["device"] != "cpu" for config in configs)
    threads = max(config["threads"] for config in configs)
    return workers or (workers_per_gpu if on_gpu else max(1, cores() // threads))


def launch(launcher: Launcher, job_overrides: Sequence[Sequence[str]]) -> list[JobReturn]:
    """Run the jobs, all of them whatever happens to some. Interrupted after a signal, when those at work have checkpointed."""
    ledger = launcher.ledger
    if ledger is None:
        request = Requests(launcher.hydra_context.config_loader, launcher.config)
        ledger = Ledger([request(overrides) for overrides in job_overrides])
    wanted = {tuple(overrides) for overrides in job_overrides}
    requests = [request for request in ledger.requests if request.overrides in wanted]
    task = launcher.task_function
    pool = Pool(functools.partial(worker.run, task.__module__, task.__name__))
    size = pool_size(requests, launcher.workers, launcher.workers_per_gpu)
    with interruption.listening(), interruption.deferred(), display(ledger, size) as shown:
        Local(requests, pool, size, launcher.config.fail_fast, ledger, shown).run()
    return [returned(ledger.outcomes.get(request)) for request in requests]


def returned(ended: Outcome | None) -> JobReturn:
    """What Hydra's own sweeper, which raises at the first failure, is to know of a run."""
    if ended is None:
        return JobReturn(status=JobStatus.FAILED, _return_value=Lost(NOT_STARTED))
    if ended.has_result:
        return JobReturn(status=JobStatus.COMPLETED, _return_value=str(ended))
    return JobReturn(status=JobStatus.FAILED, _return_value=RuntimeError(str(ended)))


class Local:
    """Which runs wait and which are at work.

    A run that another sweep is at comes last; if its result is there by then, it counts as done.
    """

    def __init__(self, requests: Sequence[Request], pool: Pool, size: int, fail_fast: bool, ledger: Ledger, display: Display) -> None:
        self.waiting = deque(requests)
        self.number = {request: number for number, request in enumerate(ledger.requests)}
        self.elsewhere: set[Request] = set()
        self.pool, self.size, self.fail_fast = pool, size, fail_fast
        self.ledger, self.display = ledger, display
        self.told_to_stop = False
        self.stillborn = 0

    def run(self) -> None:
        try:
            while self.waiting or self.at_work():
                self.stop_early()
                self.employ()
                for event in self.pool.events(TICK):
                    self.handle(event)
                self.display.show([(each.job, each.share) for each in self.at_work()], len(self.elsewhere))
        finally:
            self.pool.close()

    def at_work(self) -> list[Worker]:
        return [each for each in self.pool.workers if each.job is not None]

    def stop_early(self) -> None:
        """Start nothing more after a signal, after a failure under `fail_fast`, or when no worker comes to life.

        Under `stop=significant`, nothing whose comparisons are decided.
        """
        asked = interruption.asked()
        if asked is not None and not self.told_to_stop:
            self.told_to_stop = True
            self.display.stopping(signal.Signals(asked).name)
            self.pool.ask_to_stop()
        if self.told_to_stop or (self.fail_fast and self.ledger.new_failure):
            self.waiting.clear()
        dropped = self.ledger.drop(self.waiting)
        if dropped:
            self.waiting = deque(request for request in self.waiting if request not in dropped)
            self.display.dropped(dropped)
        if self.stillborn >= STILLBORN:
            for request in self.waiting:
                self.ledger.note(outcome(request, "no worker process came to life"))
            self.waiting.clear()

    def employ(self) -> None:
        for each in self.pool.idle():
            request = self.next()
            if request is None:
                break
            self.pool.give(each, request, request.job(self.number[request]))
            self.display.started(request)
        wanted = min(self.size, len(self.at_work()) + len(self.waiting))
        for _ in range(wanted - len(self.pool.workers)):
            self.pool.start()

    def next(self) -> Request | None:
        """The first run that no other sweep holds."""
        for request in list(self.waiting):
            if records.is_locked(request.directory):
                self.elsewhere.add(request)
                continue
            self.waiting.remove(request)
            was_elsewhere = request in self.elsewhere
            self.elsewhere.discard(request)
            if not was_elsewhere or standing(request.directory, rerun=None) is None:
                return request
            self.end(request)
        return None

    def handle(self, event: Event) -> None:
        if event.what == "ready":
            self.stillborn = 0
        elif event.what == "done":
            self.end(event.job, event.value or "", raised=event.value is not None)
        elif event.what == "died" and event.job is not None:
            with_the_sweep = interruption.asked() is not None and was_asked_to(event.value)
            self.end(event.job, "stopped with the sweep" if with_the_sweep else event.value)
        elif event.what == "unstarted":
            self.waiting.appendleft(event.job)
            self.stillborn += 1
        elif event.what == "died" and not event.worker.ready:
            self.stillborn += 1

    def end(self, request: Request, said: str = "", raised: bool = False) -> None:
        ended = outcome(request, said, raised)
        self.ledger.note(ended)
        self.display.ended(ended)
