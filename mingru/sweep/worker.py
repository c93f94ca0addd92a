"""A worker process of the local launcher: it takes one job at a time from its parent, and ends with it."""

import ctypes
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra.core.utils import JobRuntime, JobStatus, run_job, setup_globals
from hydra.types import HydraContext
from omegaconf import DictConfig

from mingru.sweep import heartbeat, logfile, provenance, records

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """On Linux, have the system kill this process the moment its parent dies, however that happens and whatever runs here.

    Called before the slow imports; a parent that was faster is noticed by `watch_parent`.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def watch_parent() -> None:
    """The same on every system, as soon as a thread can run."""
    parent = parent_process()
    if parent is None:
        return

    def wait_for_its_end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait_for_its_end, daemon=True, name="parent watch").start()


def serve(connection: Connection, work: Callable[[Any], Any]) -> None:
    """Call `work` on each job that comes, until there are no more.

    Up the pipe go `("ready", None)` once, `("began", None)`, then `("share", done)` as a job gets on, and at its end `("done", what work
    returned)`.
    """
    watch_parent()
    # A Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What the run's record calls its code, before an edit can get between it and the modules that are imported by now.
    provenance.code_digest()
    logging.getLogger().setLevel(logging.INFO)
    logfile.captures_output = True
    heartbeat.listen(lambda share: connection.send(("share", share)))
    connection.send(("ready", None))
    while (job := receive(connection)) is not None:
        connection.send(("began", None))
        connection.send(("done", work(job)))


def receive(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        return None


def run(module: str, function: str, config: DictConfig) -> str | None:
    """One job of Hydra's, with its callbacks and environment: calls a function on the config; returns its error in one line.

    A job that is asked to stop ends this process: whoever sent the signal wants that.
    """
    setup_globals()
    JobRuntime.instance().set("name", config.hydra.job.name)
    try:
        done = run_job(
            task_function=getattr(importlib.import_module(module), function),
            config=config,
            job_dir_key="hydra.sweep.dir",
            job_subdir_key="hydra.sweep.subdir",
            hydra_context=HydraContext(config_loader=None, callbacks=Callbacks(config)),
            configure_logging=False,
        )
    except Exception as error:
        return records.one_line(error)
    return None if done.status == JobStatus.COMPLETED else records.one_line(done._return_value)
