"""What the blocks of a run's selections have become, clocks and permutations: python scripts/choices.py outputs/s3_hier/*/s*"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path[0] = str(PROJECT) if __name__ == "__main__" else sys.path[0]
# Before torch is imported: its matrices are small here.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import train
from mingru.analysis import choices
from mingru.report.document import Table, columns
from mingru.report.table import table_text
from mingru.sweep import records
from scripts.exact import tell_each
from tasks.stream import generator
from tasks.word_problem import WordProblem

SEQUENCES, LENGTH = 16, 640


def look(directory: Path) -> str:
    """Keep what the blocks are beside the run, and return it as a table. ValueError, one line, for a run without such blocks."""
    stack, cfg = train.load_run(directory)
    task = train.resolve(cfg)[1]
    if not isinstance(task, WordProblem):
        raise ValueError(f"{directory}: {task.name} is no word problem, whose elements are spelt in 1, 2, 4, ... tokens")
    period = 2**task.levels
    found = choices.blocks(stack.eval(), task.sample(generator(task.name, "choices", LENGTH, 0), SEQUENCES, LENGTH).inputs, period)
    if not found:
        raise ValueError(f"{directory}: has no selection without injection")
    records.write_json(directory / choices.FILE, choices.as_record(found))
    rows = [
        [
            f"{layer} {stack.blocks[layer].mixer.name}",
            str(len(blocks)),
            str(sum(block.counts for block in blocks)),
            str(sum(block.is_clock for block in blocks)),
            alive([block.alive for block in blocks]),
        ]
        for layer, blocks in found.items()
    ]
    headers, numeric = columns("layer", ">blocks", f">count modulo {period}", ">and nothing else", "blocks × entries alive")
    return table_text(Table("choices", "", headers, rows, numeric))


def alive(entries: list[int]) -> str:
    """How many blocks have how many entries alive, the most first: "1 × 3, 7 × 1"."""
    return ", ".join(f"{number} × {entries}" for entries, number in sorted(Counter(entries).items(), reverse=True))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=f"Tell what the blocks of selections do, and keep it as {choices.FILE} in the run's folder."
    )
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN_DIR", help="folders of finished runs")
    return tell_each("choices.py", parser.parse_args(argv).runs, look)


if __name__ == "__main__":
    sys.exit(main())
