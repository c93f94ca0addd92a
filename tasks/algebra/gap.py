"""GAP's library of small groups."""

import functools
import importlib.util
import json
import subprocess
import sys

from tasks.algebra.permutations import generated_group
from tasks.algebra.transitions import Group

# Run in a process of its own, because GAP brings signal handlers, and a run has its own.
_QUESTION = """
import json, sys
import passagemath_gap
from sage.libs.gap.libgap import libgap
try:
    group = libgap.SmallGroup(int(sys.argv[1]), int(sys.argv[2])).IsomorphismPermGroup().Image()
except ValueError as error:
    print(json.dumps(str(error)))
else:
    degree = max(int(group.LargestMovedPoint()), 1)
    print(json.dumps([[int(i) - 1 for i in libgap.ListPerm(g, degree)] for g in group.GeneratorsOfGroup()] or [[0]]))
"""


@functools.cache
def small_group(order: int, number: int) -> Group:
    """SmallGroup(order, number) of GAP, its elements breadth first from GAP's generators.

    ValueError where passagemath-gap is not installed, or GAP has no such group.
    """
    if importlib.util.find_spec("passagemath_gap") is None:
        raise ValueError(f"SmallGroup({order},{number}) needs GAP: pip install passagemath-gap")
    done = subprocess.run([sys.executable, "-c", _QUESTION, str(order), str(number)], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"SmallGroup({order},{number}): GAP failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    if isinstance(answer, str):
        raise ValueError(f"SmallGroup({order},{number}): {answer.removeprefix('Error, ')}")
    return generated_group(answer)
