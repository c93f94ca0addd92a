"""What runs in the compiler's process: the host code of a kernel as it is, and its start replaced by its compilation."""

import importlib
import os
import sys

import torch

from tests.ops.cases import CASES, Case, gradients, results

COMPILED = []


class NoGpu:
    """What Triton asks of a driver before it compiles."""

    capability = 90

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)


def start(cache: str) -> None:
    assert "triton" not in sys.modules
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["TRITON_CACHE_DIR"] = cache
    torch.set_num_threads(1)
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    driver.set_active(NoGpu())
    run = JITFunction.run

    def compile_only(self, *arguments, grid, warmup, **options):
        COMPILED.append(run(self, *arguments, grid=grid, warmup=True, **options))

    JITFunction.run = compile_only
    for case in CASES:
        gpu = importlib.import_module(f"{case.module.__name__}.gpu")
        case.module._scan.register_kernel("cpu")(gpu.forward)
        case.module._scan_backward.register_kernel("cpu")(gpu.backward)


def compile_case(case: Case, batch: int, steps: int, dtype: torch.dtype) -> list[tuple[int, bool]]:
    """Of the forward and the backward kernel: the size of the machine code, and whether loads run ahead."""
    COMPILED.clear()
    arguments = case.arguments(batch, steps, dtype)
    gradients(results(case.op, arguments), arguments)
    return [(len(kernel.asm["cubin"]), "cp.async" in kernel.asm["ptx"]) for kernel in COMPILED]
