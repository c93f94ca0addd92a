"""Times of forward and backward: an op, what any implementation of it would have to move, its compiled definition, a GRU."""

from __future__ import annotations

import fcntl
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from scripts.gpu.arguments import Shape

WIDTH = 64
# A state of 64 numbers (1,024 for delta_scan), in training and in a long sequence.
USUAL = tuple(
    Shape(op, batch, steps, sizes)
    for batch, steps in ((128, 64), (32, 4096))
    for op, sizes in (
        ("diagonal_scan", (64,)),
        ("rotation_scan", (32,)),
        ("givens_scan", (8, 3, 8)),
        ("block_scan", (8, 8)),
        ("delta_scan", (2, 4, 16, 16)),
        ("reflection_scan", (4, 8, 8)),
        ("selection_scan", (8, 8)),
    )
)
# A state of 2,048.
LARGE = (
    Shape("diagonal_scan", 32, 1024, (2048,)),
    Shape("rotation_scan", 32, 1024, (1024,)),
    Shape("givens_scan", 32, 1024, (256, 3, 8)),
    Shape("block_scan", 8, 1024, (256, 8)),
    Shape("delta_scan", 32, 1024, (2, 2, 32, 32)),
    Shape("reflection_scan", 32, 1024, (4, 256, 8)),
    Shape("selection_scan", 8, 1024, (256, 8)),
)
COMPILED = tuple(shape for shape in USUAL if shape.steps <= 64)


def seconds(work: Callable, device: str, lasting: float = 0.2) -> float:
    """Median of single runs, as many as fit into `lasting` seconds and at least 5, after 3 that do not count."""
    for _ in range(3):
        work()
    taken: list[float] = []
    while len(taken) < 5 or (sum(taken) < lasting and len(taken) < 200):
        taken.append(_once(work, device))
    return statistics.median(taken)


def _once(work: Callable, device: str) -> float:
    if torch.device(device).type != "cuda":
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    before, after = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    before.record()
    work()
    after.record()
    after.synchronize()
    return before.elapsed_time(after) / 1000


def bandwidth(device: str, size: int = 2**29) -> float:
    """Bytes a second of a copy, read and written, too large for any cache."""
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / seconds(lambda: target.copy_(source), device)


def op(function: Callable, arguments: list[Tensor]) -> Callable:
    """Forward and backward as one piece of work; of delta_scan's results, the outputs."""
    probe = torch.randn_like(_first(function(*arguments)))
    return lambda: torch.autograd.grad(_first(function(*arguments)), arguments, probe)


def _first(returned: Tensor | tuple[Tensor, ...]) -> Tensor:
    return returned if isinstance(returned, Tensor) else returned[0]


def moved_bytes(shape: Shape, arguments: list[Tensor]) -> int:
    """What forward and backward read and write at least, each number once in each of the two.

    Forward: arguments in, results out. Backward: the results' gradient, the arguments but the drive, and the states in;
    the arguments' gradients out. delta_scan saves fewer states than it has, which count as none.
    """
    sizes = [argument.numel() * argument.element_size() for argument in arguments]
    delta = shape.op == "delta_scan"
    results = sizes[2] // shape.sizes[0] if delta else sizes[_drive(shape)]
    again = sum(sizes) - (0 if delta else sizes[_drive(shape)])
    return sum(sizes) + results + results + again + (0 if delta else results) + sum(sizes)


def _drive(shape: Shape) -> int:
    return 2 if shape.op in ("rotation_scan", "reflection_scan") else 1


def gru(batch: int, steps: int, device: str) -> Callable:
    """Forward and backward of a layer of torch.nn with a state of 64 numbers, its two matrix products included."""
    layer = nn.GRU(WIDTH, WIDTH, batch_first=True, device=device)
    inputs = torch.randn(batch, steps, WIDTH, device=device, requires_grad=True)
    wanted = [inputs, *layer.parameters()]
    probe = torch.randn(batch, steps, WIDTH, device=device)
    return lambda: torch.autograd.grad(layer(inputs)[0], wanted, probe)


def compiled_seconds(shape: Shape, device: str, lock: Path) -> float:
    """The definition under torch.compile; compiling may overlap with other processes', measuring may not."""
    work = op(torch.compile(shape.reference), shape.arguments(device))
    work()
    with lock.open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        return seconds(work, device)


def all_compiled(script: Path, lock: Path, limit: float) -> dict[Shape, float]:
    """A process for each definition, ended after `limit` seconds; those that were not done are left out."""
    command = [sys.executable, str(script), "--compiled"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "start_new_session": True}
    processes = {shape: subprocess.Popen([*command, shape.op, str(lock)], **options) for shape in COMPILED}
    end = time.monotonic() + limit
    found = {}
    for shape, process in processes.items():
        try:
            # Time to read, even after another used up the limit, what one that is done has said.
            said, _ = process.communicate(timeout=max(0.5, end - time.monotonic()))
            found[shape] = float(said.split()[-1])
        except (ValueError, IndexError):
            continue
        except subprocess.TimeoutExpired:
            # The group, so that the compilers it started go too.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return found
