"""Count the fits of all runs and compare them: python scripts/report.py --help"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))
# Before numpy is imported: its matrices are small here, and threads would mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from mingru.report import assemble, table
from mingru.report.runs import compare, local, published, wandb_api, wandb_files
from mingru.report.runs.record import RunsError, Source

CLEAR = "\x1b[2J\x1b[H"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit rates, exact intervals, Fisher's exact test and accuracy by length.")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs", metavar="DIR", help="where the runs are (default: outputs)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--wandb", metavar="ENTITY/PROJECT", help="read the runs from the W&B service")
    source.add_argument("--wandb-files", type=Path, metavar="DIR", help="read the runs from W&B's offline files under DIR")
    source.add_argument("--published", type=Path, metavar="FILE", help="read the runs from a file that scripts/publish.py wrote")
    parser.add_argument("--baseline", metavar="MIXER", help="compare every mixer with this one (default: all pairs)")
    parser.add_argument("--pool", action="store_true", help="count runs of different code, torch and devices together")
    parser.add_argument("--check", action="store_true", help="compare W&B's runs with those in --outputs and name every difference")
    parser.add_argument("--full", action="store_true", help="print the sensitivity tables too, as the files have them")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the Markdown (default: DIR/report/report.md)")
    parser.add_argument(
        "--pictures", action=argparse.BooleanOptionalAction, help=f"draw the pictures (default: up to {assemble.MOST_DRAWN:,} runs)"
    )
    parser.add_argument("--watch", type=int, nargs="?", const=10, metavar="SECONDS", help="report again every SECONDS (10), until Ctrl-C")
    options = parser.parse_args(argv)
    if options.check and not (options.wandb or options.wandb_files or options.published):
        parser.error("--check needs --wandb, --wandb-files or --published: it compares them with --outputs")
    if options.watch is not None and options.watch < 1:
        parser.error(f"--watch {options.watch}: at least one second is wanted")
    return options


def read(options: argparse.Namespace) -> Source:
    if options.wandb:
        return wandb_api.read(options.wandb)
    if options.wandb_files:
        return wandb_files.read(options.wandb_files)
    if options.published:
        return published.read(options.published)
    return local.read(options.outputs)


def check(options: argparse.Namespace) -> int:
    given, kept = read(options), local.read(options.outputs)
    differences = compare.differences(given, kept)
    for line in differences:
        print(line)
    print(f"{len(given.runs)} runs in {given.name}, {len(kept.runs)} in {kept.name}: {len(differences) or 'no'} differences")
    return 1 if differences else 0


def report(options: argparse.Namespace) -> int:
    folder = options.outputs / "report"
    request = assemble.Request(
        folder, options.out or folder / "report.md", options.baseline, options.pool, options.pictures, options.watch or 0
    )
    source = read(options)
    document = assemble.report(source, request)
    print(table.markdown(document, options.full))
    print(f"{source.name}: report written to {request.markdown} and {folder / 'index.html'}")
    return 0


def watch(options: argparse.Namespace) -> int:
    """Report again and again; runs that are not there yet are waited for."""
    try:
        while True:
            print(CLEAR if sys.stdout.isatty() else "", end="")
            try:
                report(options)
            except RunsError as error:
                print(f"report.py: {error}", file=sys.stderr)
            time.sleep(options.watch)
    except KeyboardInterrupt:
        return 0


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        return check(options) if options.check else watch(options) if options.watch else report(options)
    except (RunsError, ValueError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
