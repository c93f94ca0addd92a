"""Write or check word-problem files: CSV with seed, input and target, element numbers in the latter two.

    python scripts/word_problem.py write A5 10 A5=10.csv --samples 100000 --seed 0
    python scripts/word_problem.py check A5 A5=10.csv

In such a file a target is op(acc, x), with the new element on the right; in this project it stands on the left. Without --samples all
words are written. To train on a file: train.py task=word_problem_file task.group=A5 task.file='"A5=10.csv"'
"""

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    # In place of this folder, whose file names would hide modules of the same name.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from tasks.algebra.names import named_group
from tasks.word_problem_file import all_words, different_words, read_words, write_words


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    write, check = commands.add_parser("write"), commands.add_parser("check")
    for command in (write, check):
        command.add_argument("group", help="such as A5, A4_x_Z5 or Z60")
    write.add_argument("length", type=int, help="elements per word")
    write.add_argument("--samples", type=int, help="so many different words, drawn uniformly; all words without it")
    write.add_argument("--seed", type=int, default=0)
    for command in (write, check):
        command.add_argument("file", type=Path)
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    group, file = named_group(chosen.group), chosen.file.absolute()
    if chosen.command == "check":
        words = read_words(file, group).inputs
    elif chosen.samples is None:
        words = all_words(group, chosen.length)
    else:
        words = different_words(group, chosen.length, chosen.samples, chosen.seed)
    if chosen.command == "write":
        write_words(file, group, words, chosen.seed)
    facts = f"{len(words)} words of {words.shape[1]} elements of {chosen.group}"
    print(f"{chosen.file}: {facts}; a target is op(acc, x), new element on the right")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
