"""The runs that W&B has, page by page, through rate limits, errors that pass and dropped connections."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

log = logging.getLogger(__name__)
PER_PAGE = 200
# One request, which wandb itself repeats within that time.
TIMEOUT_SECONDS = 20
# How long one page is asked for before it is given up.
PATIENCE_SECONDS = 120


class ServerError(Exception):
    """W&B can't be read; the message is one line for the user."""


class NoProject(ServerError):
    """W&B can be read and doesn't know the project."""


@dataclass(frozen=True)
class Listed:
    """A run as W&B has it."""

    id: str
    state: str
    config: dict[str, Any]
    summary: dict[str, Any]
    tags: list[str]
    rows: int


def runs(path: str) -> Iterator[Listed]:
    """Every run of `entity/project` once, oldest first, with config and summary from the page; the sampled history is never read.

    Raises ServerError when the service can't be reached, refuses the key or stops answering, and says how far it was read.
    """
    import wandb

    from mingru.tracking import host

    host.account()
    try:
        # lazy=False: the lazy listing fetches the config of each run in a request of its own
        listing = wandb.Api(timeout=TIMEOUT_SECONDS).runs(path, per_page=PER_PAGE, lazy=False)
    except Exception as error:
        raise ServerError(one_line(error)) from error
    seen: set[str] = set()
    for index in _indices(listing):
        run = listing[index]
        if run.id not in seen:
            seen.add(run.id)
            yield Listed(run.id, run.state, run.config, run.summary_metrics, list(run.tags or []), run.history_line_count or 0)


def _indices(listing: Any) -> Iterator[int]:
    """The positions of the listing, each when its page has come."""
    index, asked = 0, time.monotonic()
    while True:
        try:
            listing[index]
        except IndexError:
            return
        except Exception as error:
            if "Could not find project" in str(error):
                raise NoProject(one_line(error)) from error
            if _refused(error) or time.monotonic() - asked > PATIENCE_SECONDS:
                read = f"{index} of {len(listing)} runs were read, then: " if index else ""
                raise ServerError(f"{read}{one_line(error)}") from error
            log.warning("W&B does not answer; asking again")
            continue
        yield index
        index, asked = index + 1, time.monotonic()


def _refused(error: BaseException) -> bool:
    """The server answered, with something that does not pass by itself."""
    return getattr(error, "response", None) is not None or isinstance(error, ValueError | TypeError)


def one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if "did not respond in time" in text:
        text = f"no answer within {PATIENCE_SECONDS} s"
    return text if len(text) <= 300 else text[:297] + "..."
