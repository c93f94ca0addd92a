"""Peak memory of a training step, in a process with nothing else in it.

The peak is the resident memory that one step adds at most to what the process holds between steps; Linux counts it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from scripts.benchmarks.workloads import floor, ours
from scripts.benchmarks.workloads.passes import Work

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Tells the kernel to start counting the peak anew.
RESET_PEAK = "5"


def step_over_saved(layers: Sequence[str], batch: int, length: int, repeats: int) -> list[float]:
    """Peak of a whole training step over the bytes that autograd keeps for its backward pass, weights left out."""
    step = ours.training_step(layers, batch, length)
    with saved() as kept:
        step()
    return peaks_over(step, sum(kept.values()), repeats)


def layer_over_recurrence(name: str, batch: int, length: int, repeats: int) -> list[float]:
    """Peak of the mixer alone, forward and backward, over the bytes of the coefficients its op is given and the states it returns."""
    work = ours.layer(name, batch, length)
    sizes: list[int] = []
    with floor.replaced(floor.mixer_modules(), lambda name, op: weighed(op, sizes)):
        work()
    return peaks_over(work, sum(sizes), repeats)


def peaks_over(work: Work, size: int, repeats: int) -> list[float]:
    if not CLEAR.exists():
        raise OSError("peak memory is read from /proc, which this system has not")
    return [peak(work) / size for _ in range(repeats)]


def peak(work: Work) -> int:
    gc.collect()
    CLEAR.write_text(RESET_PEAK)
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


def resident(entry: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(entry))
    return 1024 * int(line.split()[1])


def weighed(op: Callable, sizes: list[int]) -> Callable:
    """The op, with the bytes of the tensors that it is given and returns noted; an absent decay has none."""

    def noting(*arguments: Tensor | bool | None, **more: Tensor | bool | None) -> Tensor | tuple[Tensor, ...]:
        results = op(*arguments, **more)
        returned = (results,) if isinstance(results, Tensor) else results
        tensors = [each for each in (*arguments, *more.values(), *returned) if isinstance(each, Tensor)]
        sizes.append(sum(each.numel() * each.element_size() for each in tensors))
        return results

    return noting


@contextmanager
def saved() -> Iterator[dict[int, int]]:
    """Address and bytes of every block of memory that autograd keeps, weights left out."""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, torch.nn.Parameter) and not is_transposed_weight(tensor):
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        yield kept


def is_transposed_weight(tensor: Tensor) -> bool:
    return isinstance(tensor._base, torch.nn.Parameter)
