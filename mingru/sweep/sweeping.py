"""A sweep from its overrides to its table, whatever launches its runs."""

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException
from hydra.plugins.launcher import Launcher

from mingru.sweep import interruption, published, records
from mingru.sweep.ledger import Ledger, table
from mingru.sweep.logfile import LOG
from mingru.sweep.outcome import outcome
from mingru.sweep.patience import Lost, patient
from mingru.sweep.request import Request, Requests

log = logging.getLogger(__name__)


def sweep(sweeper: BasicSweeper, arguments: Sequence[str]) -> None:
    """Launch the runs that have no result yet and print the table; SystemExit unless every run has a result in the end.

    CompactHydraException where `stop=significant` has nothing to compare.
    """
    ledger = Ledger(requested(sweeper, arguments))
    try:
        published.restore(ledger.requests)
    except ValueError as error:
        raise CompactHydraException(str(error)) from None
    if sweeper.config.stop:
        try:
            ledger.stop_when_significant()
        except ValueError as error:
            raise CompactHydraException(str(error)) from None
    ledger.note_standing()
    code = 0
    try:
        with interruption.listening():
            for batch in batches(sweeper, ledger.pending()):
                ledger.drop(batch)
                launch(sweeper.launcher, [request for request in batch if request not in ledger.dropped], ledger)
                if sweeper.config.fail_fast and ledger.new_failure:
                    break
    except interruption.Interrupted as interrupted:
        code = interrupted.code
    ledger.close()
    sys.stdout.write(table(ledger) + "\n")
    sys.stdout.flush()
    if code or ledger.exit_code:
        raise SystemExit(code or ledger.exit_code)


def requested(sweeper: BasicSweeper, arguments: Sequence[str]) -> list[Request]:
    """The runs of a command line, which has been checked before: a sweeper would compose each of them once more for that."""
    loader = sweeper.hydra_context.config_loader
    overrides = OverridesParser.create(config_loader=loader).parse_overrides([*sweeper._parse_config(), *arguments])
    request = Requests(loader, sweeper.config)
    return [request(job) for job in BasicSweeper.split_arguments(overrides, max_batch_size=None)[0]]


def batches(sweeper: BasicSweeper, requests: list[Request]) -> Iterator[list[Request]]:
    """What is launched at a time: everything, unless `max_batch_size` or the one that runs in this process is to fail fast.

    Under `stop=significant` one seed of every cell, except by the local launcher, which drops what it need not start.
    """
    one_by_one = sweeper.config.fail_fast and isinstance(sweeper.launcher, BasicLauncher)
    groups = [requests]
    if sweeper.config.stop and not hasattr(sweeper.launcher, "ledger"):
        groups = [list(group) for _, group in groupby(requests, key=lambda request: request.seed)]
    for group in groups:
        size = 1 if one_by_one else sweeper.max_batch_size or len(group) or 1
        for first in range(0, len(group), size):
            yield group[first : first + size]


def launch(launcher: Launcher, requests: list[Request], ledger: Ledger) -> None:
    """Launch, and note how each run ended.

    A launcher that gives up when a job dies (joblib's) is asked again for the runs that it never started.
    """
    if hasattr(launcher, "ledger"):
        launcher.ledger = ledger
    began = time.time()
    while requests:
        try:
            with patient(launcher):
                returns = launcher.launch([request.overrides for request in requests], initial_job_idx=0)
        except Exception as error:
            log.warning("%s gave up: %s: %s", type(launcher).__name__, type(error).__name__, str(error).split("\n")[0])
            untouched = [request for request in requests if not touched(request, began)]
            requests = untouched if len(untouched) < len(requests) else []
        else:
            for request, returned in zip(requests, returns, strict=True):
                note(request, returned, ledger)
            return


def touched(request: Request, began: float) -> bool:
    """Whether the run has been started since."""
    log_file = request.directory / LOG
    return records.is_locked(request.directory) or (log_file.exists() and log_file.stat().st_mtime >= began)


def note(request: Request, returned: JobReturn, ledger: Ledger) -> None:
    if request in ledger.outcomes or request in ledger.dropped:
        return
    error = None if returned.status == JobStatus.COMPLETED else returned._return_value
    if isinstance(error, Lost):
        ledger.note(outcome(request, str(error)))
    else:
        ledger.note(outcome(request, records.one_line(error) if error else "", raised=error is not None))
