"""The W&B run of a run that is training."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mingru.settings import project_path
from mingru.sweep.interruption import Interrupted
from mingru.tracking import host, kept, names, superseded

log = logging.getLogger(__name__)


@contextmanager
def track(config: dict[str, Any], identity: dict[str, Any], directory: Path) -> Iterator[Any]:
    """The open W&B run, or None without one. A run that raises is closed as failed and raises on; W&B itself never raises here."""
    run = start(config, identity, directory) if config["logger"]["kind"] != "none" else None
    if run is None:
        yield None
        return
    outputs = Path(project_path(config["outputs"]))
    try:
        yield run
    except Interrupted:
        # It goes on later, under the same id.
        attempt(run.mark_preempting)
        close(run, 1, outputs)
        raise
    except BaseException as error:
        tell(run, names.failed(first_line(f"{type(error).__name__}: {error}")))
        close(run, 1, outputs)
        raise
    close(run, 0, outputs)


def start(config: dict[str, Any], identity: dict[str, Any], directory: Path) -> Any:
    """An open run: online where that is asked for and possible, else offline; None when W&B can't even write a file."""
    logger, outputs = config["logger"], Path(project_path(config["outputs"]))
    mode = host.mode(logger["mode"])
    if mode == "disabled":
        return None
    options = {**names.options(config, identity), "dir": directory}
    patience = (logger["init_seconds"], logger["finish_seconds"])
    if mode == "online":
        reason = host.refusal(outputs, logger["retry_seconds"])
        if reason is None:
            try:
                run = init("online", patience, {**options, "resume": "allow"})
                return caught_up(run, identity, directory)
            except Exception as error:
                reason = first_line(error)
                host.remember(outputs, reason)
        log.warning("W&B: %s: this run is recorded offline, scripts/sync.py uploads it", reason)
    try:
        # An offline run cannot ask the server what it has, so it does not resume; `upload` joins what belongs together.
        return init("offline", patience, options)
    except Exception as error:
        log.warning("W&B: %s: this run is recorded in its own folder only", first_line(error))
        return None


def init(mode: str, patience: tuple[float, float], options: dict[str, Any]) -> Any:
    import wandb

    # A run left open would swallow this one.
    attempt(wandb.finish)
    host.account()
    try:
        return wandb.init(mode=mode, settings=names.settings(*patience), **options)
    except Exception:
        # The client's process holds on to the id of a run that could not begin.
        wandb.teardown()
        raise


def caught_up(run: Any, identity: dict[str, Any], directory: Path) -> Any:
    """The run, online, with what an earlier part of it recorded and the server lacks; older attempts are marked."""
    log.info("W&B: %s", run.url)
    attempt(lambda: replay(run, kept.rows(directory)))
    older = superseded.older_attempts(directory)
    if older:
        attempt(lambda: superseded.mark(f"{run.entity}/{run.project}", older))
    return run


def replay(run: Any, rows: dict[int, dict[str, Any]]) -> None:
    """Log the rows from the step on where the server's end."""
    for step in sorted(step for step in rows if step >= run.starting_step):
        run.log(rows[step], step=step)


def summarise(run: Any, result: dict[str, Any], identity: dict[str, Any]) -> None:
    """Put into W&B's summary what result.json holds beyond the identity."""
    if run is not None:
        tell(run, names.summary(result, identity))


def tell(run: Any, summary: dict[str, Any]) -> None:
    attempt(lambda: run.summary.update(summary))


def close(run: Any, exit_code: int, outputs: Path) -> None:
    """Finish within a bounded time. What could not be sent stays on the disk."""
    try:
        run.finish(exit_code=exit_code)
    except Exception as error:
        log.warning("W&B: %s: the run is kept, scripts/sync.py uploads it", first_line(error))
        host.remember(outputs, first_line(error))


def attempt(action: Callable[[], Any]) -> None:
    """Whatever goes wrong in W&B is no reason for a run to fail."""
    try:
        action()
    except Exception as error:
        log.warning("W&B: %s", first_line(error))


def first_line(error: BaseException | str) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
