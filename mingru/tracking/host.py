"""Whether W&B is to be asked at all: the mode, the key, and a memory of hosts that did not answer.

One run finds out that the host cannot be reached; the others of its process, and through a note in the outputs folder the other workers
of its sweep, then start offline at once.
"""

import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import requests
from requests.utils import get_netrc_auth

log = logging.getLogger(__name__)
NOTE = ".wandb-unreachable"
CONNECT_SECONDS, ANSWER_SECONDS = 5, 10

_answered: dict[str, float] = {}
_refused: dict[str, tuple[float, str]] = {}


def account() -> Any:
    """W&B's settings for this process, from its environment and its own files; from now on its client prints nothing."""
    import wandb

    return wandb.setup(wandb.Settings(silent=True)).settings


def has_key() -> bool:
    found = account()
    return bool(found.api_key or found.identity_token_file or get_netrc_auth(found.base_url))


def mode(wanted: str) -> str:
    """online, offline or disabled. `auto` follows WANDB_MODE where it is set, and is else online exactly when there is a key."""
    chosen = (os.environ.get("WANDB_MODE") or "online") if wanted == "auto" else wanted
    if chosen in ("offline", "dryrun"):
        return "offline"
    if chosen == "disabled":
        return chosen
    return "online" if has_key() else "offline"


def refusal(outputs: Path, retry_seconds: float) -> str | None:
    """Why the host cannot be used now, in a few words; None when it can. Waits at most 15 s, and not at all where the answer is known."""
    url, now = account().base_url, time.time()
    if now - _answered.get(url, 0) < retry_seconds:
        return None
    known = _refused.get(url) or _noted(outputs, url)
    if known and 0 <= now - known[0] < retry_seconds:
        return known[1]
    try:
        requests.head(url, timeout=(CONNECT_SECONDS, ANSWER_SECONDS), allow_redirects=False).close()
    except requests.RequestException as error:
        reason = f"{url} does not answer ({type(error).__name__})"
        remember(outputs, reason)
        return reason
    _answered[url] = now
    return None


def remember(outputs: Path, reason: str) -> None:
    """Let the next runs start offline for a while."""
    url, now = account().base_url, time.time()
    _answered.pop(url, None)
    _refused[url] = (now, reason)
    try:
        (outputs / NOTE).write_text(json.dumps({"url": url, "at": now, "reason": reason}), encoding="utf-8")
    except OSError as error:
        log.debug("%s: cannot be written (%s)", outputs / NOTE, error)


def _noted(outputs: Path, url: str) -> tuple[float, str] | None:
    try:
        note = json.loads((outputs / NOTE).read_text(encoding="utf-8"))
        return (float(note["at"]), str(note["reason"])) if note["url"] == url else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget() -> None:
    """Ask again next time."""
    _answered.clear()
    _refused.clear()
