"""Count the fits of all runs and compare them: python scripts/report.py --help"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from mingru.report import contents, families, fit_rate, frame, looks, table
from mingru.report.runs import compare, local, wandb_api, wandb_files
from mingru.report.runs.record import RunsError, Source


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fit rates, exact intervals, Fisher's exact test and accuracy by length.")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs", metavar="DIR", help="where the runs are (default: outputs)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--wandb", metavar="ENTITY/PROJECT", help="read the runs from the W&B service")
    source.add_argument("--wandb-files", type=Path, metavar="DIR", help="read the runs from W&B's offline files under DIR")
    parser.add_argument("--baseline", metavar="MIXER", help="compare every mixer with this one (default: all pairs)")
    parser.add_argument("--pool", action="store_true", help="count runs of different code, torch and devices together")
    parser.add_argument("--check", action="store_true", help="compare W&B's runs with those in --outputs and name every difference")
    parser.add_argument("--full", action="store_true", help="print the sensitivity tables too, as the file has them")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the Markdown (default: DIR/report/report.md)")
    options = parser.parse_args(argv)
    if options.check and not (options.wandb or options.wandb_files):
        parser.error("--check needs --wandb or --wandb-files: it compares them with --outputs")
    return options


def read(options: argparse.Namespace) -> Source:
    if options.wandb:
        return wandb_api.read(options.wandb)
    if options.wandb_files:
        return wandb_files.read(options.wandb_files)
    return local.read(options.outputs)


def check(options: argparse.Namespace) -> int:
    given, kept = read(options), local.read(options.outputs)
    differences = compare.differences(given, kept)
    for line in differences:
        print(line)
    print(f"{len(given.runs)} runs in {given.name}, {len(kept.runs)} in {kept.name}: {len(differences) or 'no'} differences")
    return 1 if differences else 0


def report(options: argparse.Namespace) -> int:
    source = read(options)
    if not source.runs:
        raise RunsError(f"{source.name}: no runs found" + "".join(f"; {note}" for note in source.notes))
    runs = frame.tabulate(source.runs, options.pool)
    found = families.families(fit_rate.fit_rates(runs), runs, options.baseline)
    place = options.outputs / "report"
    document = contents.contents(source, runs, found, looks.load(place / "looks.jsonl"))
    print(table.markdown(document, options.full))
    file = options.out or place / "report.md"
    table.write(table.markdown(document), file)
    looks.record(place / "looks.jsonl", found)
    print(f"{source.name}: report written to {file}")
    return 0


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        return check(options) if options.check else report(options)
    except (RunsError, ValueError, OSError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
