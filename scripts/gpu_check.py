"""Are the Triton kernels right and fast on this machine's GPU? python scripts/gpu_check.py

Needs torch >= 2.8 and triton >= 3.4, nothing else, and ends within four minutes. Exit status 0: all values are right; 1: one is
wrong or was not reached in time, or there is no CUDA device. docs/gpu.md says what the table means.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import sys
from pathlib import Path

# In place of this folder, whose coverage.py would otherwise be imported as the library of that name.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from scripts.gpu import times
from scripts.gpu.check import END, check


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", nargs=2, metavar=("OP", "LOCK"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("gpu_check.py: torch sees no CUDA device here, so nothing was checked", file=sys.stderr)
        return 1
    if importlib.util.find_spec("triton") is None:
        print("gpu_check.py: triton is not installed, so there is nothing to check: pip install 'triton>=3.4'", file=sys.stderr)
        return 1
    if options.compiled:
        op, lock = options.compiled
        faulthandler.dump_traceback_later(END, exit=True)
        shape = next(shape for shape in times.COMPILED if shape.op == op)
        print(times.compiled_seconds(shape, "cuda", Path(lock)))
        return 0
    return check(Path(__file__))


if __name__ == "__main__":
    sys.exit(main())
