"""Times of this project as ratios, on an otherwise idle machine: python scripts/bench.py all --peers"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
# In place of this folder, whose coverage.py would otherwise be imported as the library of that name.
sys.path[0] = str(PROJECT)

from scripts.benchmarks.remote import WorkError
from scripts.benchmarks.run import Report, run
from scripts.benchmarks.session import Options
from scripts.benchmarks.suites import SUITES


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, epilog="docs/performance.md says what each row means.")
    parser.add_argument("suite", choices=[*SUITES, "all"], help="which rows; all of them with `all`")
    parser.add_argument("--peers", action="store_true", help="also against other packages, installed from PyPI into a throw-away folder")
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs per row (default: 7)")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="threads of rows that name none (default: 2)")
    parser.add_argument("--quick", action="store_true", help="tiny shapes and two pairs: does everything run? No measurement")
    parser.add_argument("--out", type=Path, default=PROJECT / "outputs" / "bench", metavar="DIR", help="default: outputs/bench")
    parser.add_argument("--docs", action="store_true", help="put the table into docs/performance.md as well")
    parser.add_argument("--idle", action="store_true", help="refuse to measure while other work is running, instead of warning")
    options = parser.parse_args(argv)
    if (options.pairs is not None and options.pairs < 1) or options.threads < 1:
        parser.error("--pairs and --threads must be at least 1")
    return options


def main(argv: list[str] | None = None) -> int:
    given = arguments(argv)
    pairs = given.pairs or (2 if given.quick else 7)
    options = Options(given.peers, given.quick, pairs, given.threads, sample=0.001 if given.quick else 0.3)
    report = Report(given.out, given.suite, document=PROJECT / "docs" / "performance.md" if given.docs else None)
    suites = list(SUITES) if given.suite == "all" else [given.suite]
    try:
        return run(suites, options, report, refuse_when_busy=given.idle)
    except (ValueError, OSError, WorkError) as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"bench.py: stopped; the rows so far are in {given.out}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
