"""Everything in order, within a time limit: values, times, the table."""

from __future__ import annotations

import faulthandler
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from scripts.gpu import times, values
from scripts.gpu.arguments import Shape
from scripts.gpu.table import Row, markdown

# Seconds after the start: no further values, no further times, no compiled definition, the end whatever happens.
VALUES, TIMES, COMPILED, END = 150, 185, 225, 235


class Clock:
    def __init__(self) -> None:
        self.start = time.monotonic()

    def left(self, until: float) -> float:
        return self.start + until - time.monotonic()


def check(script: Path, device: str = "cuda") -> int:
    """The exit status; `script` is what starts the processes that compile the definitions."""
    import triton

    clock = Clock()
    faulthandler.dump_traceback_later(END, exit=True)
    torch.backends.cudnn.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}\n", flush=True)
    right = check_values(device, clock)
    rows = measure(device, clock, (*times.USUAL, *times.LARGE))
    with tempfile.TemporaryDirectory() as folder:
        compiled = times.all_compiled(script, Path(folder) / "lock", clock.left(COMPILED))
    print(f"\n{markdown([replace(row, compiled=compiled.get(row.shape)) for row in rows])}")
    print(f"\n{'all values and gradients are right' if right else 'WRONG: see above'}")
    faulthandler.cancel_dump_traceback_later()
    return 0 if right else 1


def check_values(device: str, clock: Clock) -> bool:
    right = True
    for outcome in values.outcomes(device):
        print(outcome, flush=True)
        right &= outcome.right
        if clock.left(VALUES) < 0:
            print("WRONG  what follows was not reached in time")
            return False
    return right


def measure(device: str, clock: Clock, shapes: Sequence[Shape], copied: int = 2**29) -> list[Row]:
    rate = times.bandwidth(device, copied)
    print(f"\na copy moves {rate / 1e9:,.0f} GB/s", flush=True)
    rows: list[Row] = []
    for shape in shapes:
        if clock.left(TIMES) < 0:
            print(f"not measured for want of time: {shape} and what follows")
            break
        try:
            rows.append(row(shape, device, rate))
        except Exception as problem:
            print(f"not measured: {shape}: {values.first_line(problem)}", flush=True)
    return rows


def row(shape: Shape, device: str, rate: float) -> Row:
    arguments = shape.arguments(device)
    taken = times.seconds(times.op(shape.function, arguments), device)
    gru = times.seconds(times.gru(shape.batch, shape.steps, device), device) if shape in times.USUAL else None
    return Row(shape, taken, times.moved_bytes(shape, arguments) / rate, gru=gru)
