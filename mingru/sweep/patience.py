"""The launchers for Slurm and Ray stop listening at the first job that dies; `patient` has them listen on to the others."""

import importlib
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher

# Where each of them waits for one job: the module of the launcher's class, and the function that waits.
WAITS = {
    "hydra_plugins.hydra_submitit_launcher": ("submitit.core.core", "Job", "results"),
    "hydra_plugins.hydra_ray_launcher": ("ray", None, "get"),
}


class Lost(Exception):
    """A job that ended without returning or raising."""


def lost(error: Exception) -> JobReturn:
    """The first words of what the launcher says, which goes on at length and over long paths."""
    words = " ".join(word for word in f"{type(error).__name__}: {error}".split() if "/" not in word)
    return JobReturn(status=JobStatus.FAILED, _return_value=Lost(textwrap.shorten(words, 160)))


def keep_listening(wait: Callable[..., Any], many: bool) -> Callable[..., Any]:
    def wait_for_one(*arguments: Any) -> Any:
        try:
            return wait(*arguments)
        except Exception as error:
            return [lost(error)] if many else lost(error)

    return wait_for_one


@contextmanager
def patient(launcher: Launcher) -> Iterator[None]:
    """While this lasts, a job that dies under Slurm or Ray returns a failure with a `Lost`."""
    place = next((place for package, place in WAITS.items() if type(launcher).__module__.startswith(package)), None)
    if place is None:
        yield
        return
    module, owner, function = place
    holder = importlib.import_module(module)
    holder = getattr(holder, owner) if owner else holder
    original = getattr(holder, function)
    setattr(holder, function, keep_listening(original, many=function == "results"))
    try:
        yield
    finally:
        setattr(holder, function, original)
