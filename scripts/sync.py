"""Upload the runs that W&B lacks: python scripts/sync.py --help"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from mingru.tracking import host
from mingru.tracking.server import ServerError
from mingru.tracking.upload import upload


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Upload to W&B the runs it lacks: offline ones, and those that lost their connection.")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs", metavar="DIR", help="where the runs are (default: outputs)")
    outputs = parser.parse_args(argv).outputs
    if not outputs.is_dir():
        return complain(f"{outputs}: no such folder")
    if not host.has_key():
        return complain("there is no W&B key: set WANDB_API_KEY, or run `wandb login`")
    reason = host.refusal(outputs, retry_seconds=0)
    if reason:
        return complain(reason)
    try:
        outcome = upload(outputs)
    except (ServerError, OSError) as error:
        return complain(f"{host.account().base_url}: {error}")
    for line in outcome.problems:
        print(line, file=sys.stderr)
    running = f", {outcome.running} still training" if outcome.running else ""
    print(f"{outputs}: {outcome.uploaded} runs uploaded, {outcome.present} were there{running}, {len(outcome.problems)} not uploaded")
    return 1 if outcome.problems else 0


def complain(text: str) -> int:
    print(f"sync.py: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
