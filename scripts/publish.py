"""Append the finished records under a folder to one file that can be committed: python scripts/publish.py --help"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from mingru.analysis import choices
from mingru.analysis.hardened_run import CERTIFICATE
from mingru.sweep import published, records


def found(outputs: Path) -> Iterator[dict[str, Any]]:
    """Every result under a folder, with what lies beside it: a hardened run's certificate, where a run was exact, what its choices are."""
    for file in sorted(outputs.rglob(records.RESULT)):
        record = records.read_json(file)
        beside = {name: records.read_json(file.with_name(name)) for name in (CERTIFICATE, published.EXACTNESS, choices.FILE)}
        if record is not None:
            yield record | {Path(name).stem: found for name, found in beside.items() if found is not None}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Append finished runs to FILE; a sweep with published=FILE counts them as finished.")
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON lines, such as docs/data/exactness.jsonl")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs", metavar="DIR", help="where the runs are (default: outputs)")
    options = parser.parse_args(argv)
    if not options.outputs.is_dir():
        print(f"publish.py: {options.outputs}: no such folder", file=sys.stderr)
        return 1
    try:
        new = published.append(options.file, found(options.outputs))
        print(f"{options.file}: {new} new, {len(published.read(options.file))} in all")
    except (ValueError, OSError) as error:
        print(f"publish.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
