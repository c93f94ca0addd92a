"""How many seeds per arm a comparison of fit rates needs: python scripts/plan.py --p1 0.7 --p2 0.3 --power 0.8 --arms 4"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mingru.report import planning
from mingru.report.document import Table, columns
from mingru.report.numbers import p_value
from mingru.report.table import table_text


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Seeds per arm for Fisher's exact test, by enumeration of every outcome.")
    parser.add_argument("--p1", type=float, required=True, metavar="RATE", help="fit rate of one arm")
    parser.add_argument("--p2", type=float, required=True, metavar="RATE", help="fit rate of the other")
    parser.add_argument("--power", type=float, default=0.8, help="chance to find the difference (default: 0.8)")
    parser.add_argument("--arms", type=int, default=2, help="mixers that are compared (default: 2)")
    parser.add_argument("--baseline", action="store_true", help="compare every arm with one baseline instead of all pairs")
    parser.add_argument("--alpha", type=float, default=0.05, help="family-wise error (default: 0.05)")
    return parser.parse_args(argv)


def describe(options: argparse.Namespace, found: planning.Plan) -> str:
    rows = [[str(row.seeds), p_value(row.smallest_p), p_value(row.smallest_corrected), f"{row.power:.3f}"] for row in found.rows]
    headers, numeric = columns(">seeds per arm", ">smallest p", ">by Holm at worst", ">power")
    lines = [
        f"{found.seeds} seeds per arm tell a fit rate of {options.p1:g} from {options.p2:g} with a power of {options.power:g}: "
        f"two-sided Fisher's exact test at {options.alpha:g}/{found.comparisons} = {found.level:.3g}.",
        f"That is Holm's worst case: the comparison that has to pass first of {found.comparisons}. A later one has it easier.",
        table_text(Table("plan", "", headers, rows, numeric)),
        "Stopping when significant (stop=significant), for this comparison:",
        table_text(sequential(options, found)),
    ]
    return "\n\n".join(lines)


def sequential(options: argparse.Namespace, found: planning.Plan) -> Table:
    plans = [planning.plan_sequential(options.p1, options.p2, found.level, seeds) for seeds in planning.sequential_sizes(found.seeds)]
    rows = [[str(row.seeds), f"{row.power:.3f}", f"{row.expected_seeds:.1f}", f"{row.expected_seeds_under_null:.1f}"] for row in plans]
    headers, numeric = columns(">at most", ">power", ">expected seeds per arm", ">the same without a difference")
    return Table("sequential", "", headers, rows, numeric)


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        found = planning.plan(options.p1, options.p2, options.power, options.arms, options.baseline, options.alpha)
    except ValueError as error:
        print(f"plan.py: {error}", file=sys.stderr)
        return 1
    print(describe(options, found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
