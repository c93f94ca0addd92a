"""A run's own log: what it logs and warns, its traceback, one line at its end, and in a worker process whatever is printed."""

import faulthandler
import logging
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from mingru.sweep.interruption import Interrupted

log = logging.getLogger(__name__)
LOG = "train.log"
LINE = logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S")
# Set in the workers of a sweep, whose standard output nobody reads.
captures_output = False


@contextmanager
def recording(directory: Path) -> Iterator[None]:
    """Add to `train.log` in the run's directory until the run ends, and say there how it ended if it raised."""
    stream = (directory / LOG).open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LINE)
    logging.getLogger().addHandler(handler)
    logging.getLogger("mingru").setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        with output_to(stream):
            yield
    except Interrupted as interrupted:
        log.warning("%s; the same command goes on from here", interrupted)
        raise
    except BaseException:
        with suppress(OSError):
            stream.write(traceback.format_exc())
        raise
    finally:
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(handler)
        # A full disk is no reason to lose a result.
        with suppress(OSError):
            stream.close()


@contextmanager
def output_to(stream: TextIO) -> Iterator[None]:
    """Send what this process and its libraries print to `stream`, the last words of a crash too. Only in a worker."""
    if not captures_output:
        yield
        return
    kept = {number: os.dup(number) for number in (1, 2)}
    flush()
    for number in kept:
        os.dup2(stream.fileno(), number)
    faulthandler.enable(stream)
    try:
        yield
    finally:
        flush()
        faulthandler.disable()
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)


def flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
