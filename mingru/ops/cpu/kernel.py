"""Numba kernels that read torch tensors in place and share their work among as many threads as torch uses.

A kernel is `kernel(first, last, sizes, like, scratch, *places)` and does the units first..last-1, if any. Units never
share an output and no sum crosses them, so the result does not depend on how they are divided. A place is a tensor's address
and leading strides, so that a slice of a fused projection is read where it lies; `like` carries the dtype and
`scratch` is the address of memory of the kernel's own. Bare pointers instead of arrays, because arrays take Numba ten
times longer to compile and keep the loops over neighbouring elements from becoming vector code.

No fast-math flag is set: the compiler may not assume NaN away, reorder a sum or fuse a product into one of its own accord,
so a result depends neither on the width of the vector registers nor on where a loop is cut.
"""

import contextlib
import functools
import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import torch
from filelock import FileLock
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from torch import Tensor

# Below this many elements a second thread costs more than it saves.
ELEMENTS_PER_THREAD = 32_768
# A number of the kind that a kernel computes in.
LIKE = {torch.float32: np.float32(0), torch.float64: np.float64(0)}

jit = functools.partial(numba.njit, nogil=True, error_model="numpy")
# A part of one kernel: what it takes and returns stays in registers.
inlined = jit(forceinline=True)


@intrinsic
def element(context, address, offset, like):
    """Pointer to the element `offset` steps after an address."""

    def generate(target, builder, signature, values):
        base = builder.inttoptr(values[0], target.get_value_type(signature.return_type))
        return builder.gep(base, [values[1]])

    return types.CPointer(like)(address, offset, like), generate


@intrinsic
def after(context, pointer, offset):
    """The pointer `offset` elements further."""

    def generate(target, builder, signature, values):
        return builder.gep(values[0], [values[1]])

    return pointer(pointer, offset), generate


def _fetching(write: bool) -> Callable:
    @intrinsic
    def fetch(context, pointer):
        def generate(target, builder, signature, values):
            number = ir.IntType(32)
            byte = builder.bitcast(values[0], ir.IntType(8).as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [byte.type, number, number, number])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, (byte, number(int(write)), number(3), number(1)))
            return target.get_dummy_value()

        return types.void(pointer), generate

    return fetch


# Bring memory to the first cache that is soon read, or written: a write that has to wait for memory holds up all behind it.
fetch_to_read, fetch_to_write = _fetching(write=False), _fetching(write=True)


@jit
def row(place, b, t, offset, like):
    """Pointer to the element `offset` of what a place holds for token t of sequence b."""
    return element(place[0], b * place[1] + t * place[2] + offset, like)


def place(tensor: Tensor, leading: int) -> tuple[int, ...]:
    """A tensor's address, then the strides of its `leading` axes in elements, then zeros: four numbers."""
    return (tensor.data_ptr(), *tensor.stride()[:leading], 0, 0, 0)[:4]


def share(batch: int, size: int, most: int = 64) -> tuple[int, int]:
    """Cut an axis into stretches of at most `most`, so that with the batch they occupy every thread.

    Returns the length of a stretch and the number of units, which is the stretches of the whole batch.
    """
    per_entry = max(-(-size // most), -(-torch.get_num_threads() // batch))
    stretch = -(-size // per_entry)
    return stretch, batch * -(-size // stretch)


class Kernel:
    """A function that is compiled, or loaded from disk, when it first meets a dtype or the length of a tuple."""

    def __init__(self, function: Callable):
        self._function = _with_cache(function)
        self._ready: set[tuple] = set()

    def __call__(self, work: tuple[int, int], dtype: torch.dtype, sizes: tuple[int, ...], scratch: int, *places) -> None:
        """Do all units; `work` is how many they are and about how many numbers they touch, `scratch` in elements."""
        like = LIKE[dtype]
        compiled_for = dtype, *map(len, places)
        if compiled_for not in self._ready:
            self._prepare(sizes, like, places)
            self._ready.add(compiled_for)
        units, elements = work
        threads = 1 if elements < ELEMENTS_PER_THREAD else min(torch.get_num_threads(), units, 1 + elements // ELEMENTS_PER_THREAD)
        memory = torch.empty(threads * scratch, dtype=dtype)
        address = memory.data_ptr()
        if threads == 1:
            self._function(0, units, sizes, like, address, *places)
            return
        pitch = scratch * memory.element_size()
        cuts = [units * i // threads for i in range(threads + 1)]
        parts = [(*cuts[i : i + 2], sizes, like, address + i * pitch, *places) for i in range(threads)]
        others = [_pool(os.getpid(), threads - 1).submit(self._function, *part) for part in parts[1:]]
        self._function(*parts[0])
        for other in others:
            other.result()

    def _prepare(self, sizes: tuple[int, ...], like: np.floating, places: tuple) -> None:
        # No units: this compiles, or loads what another process compiled. The lock lets one process of a sweep compile
        # while the others wait for its result.
        directory = self._function.stats.cache_path
        lock = contextlib.nullcontext() if directory is None else FileLock(Path(directory) / "compile.lock")
        with lock:
            self._function(0, 0, sizes, like, 0, *places)


@functools.cache
def _pool(process: int, threads: int) -> Executor:
    # A forked child has none of its parent's threads, so each process makes its own pool.
    return ThreadPoolExecutor(threads, thread_name_prefix="mingru")


def _with_cache(function: Callable) -> Callable:
    # Numba looks for changes only in the file of the kernel itself; the digest adds what it may have been compiled with.
    folder = Path(__file__).parent
    helpers = sorted([*folder.glob("*.py"), *folder.parent.glob("*/cpu.py")])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in helpers)).hexdigest()
    chosen = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(Path(chosen or folder / "__pycache__") / f"kernels-{digest[:12]}")
    try:
        return jit(cache=True)(function)
    except RuntimeError:
        # Neither the package nor the user's cache folder can be written: compile in every process.
        return jit(function)
    finally:
        numba.config.CACHE_DIR = chosen
