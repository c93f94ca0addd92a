"""Make a W&B workspace with fit rates, accuracies and validation curves by cell: python scripts/dashboard.py ENTITY/PROJECT"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from mingru.tracking import dashboard, host, server


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a W&B workspace: fit rate by cell, accuracy by length, validation curves by cell.")
    parser.add_argument("path", metavar="ENTITY/PROJECT")
    path = parser.parse_args(argv).path
    if path.count("/") != 1 or not all(path.split("/")):
        return complain(f"{path}: must be ENTITY/PROJECT, as in a W&B address")
    if not host.has_key():
        return complain("there is no W&B key: set WANDB_API_KEY, or run `wandb login`")
    try:
        saved = dashboard.workspace(path, dashboard.lengths(path)).save()
    except ImportError:
        return complain("needs the package wandb-workspaces: pip install wandb-workspaces")
    except server.ServerError as error:
        return complain(f"{path}: {error}")
    except Exception as error:
        # Whatever the service answers to a workspace.
        return complain(f"{path}: the workspace was not saved: {server.one_line(error)}")
    print(saved.url)
    return 0


def complain(text: str) -> int:
    print(f"dashboard.py: {text}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
