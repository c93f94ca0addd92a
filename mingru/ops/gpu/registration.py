"""Which device an op's Triton kernels serve; nothing here imports triton."""

import importlib
import importlib.util

from torch.library import CustomOpDef


def register_on_gpu(op: CustomOpDef, backward: CustomOpDef, package: str) -> None:
    """Compute `op` and its backward pass by `package`.gpu on CUDA devices, imported when the first such tensor comes.

    Where triton has no build, the plain loop that defines the op stays in use.
    """
    if importlib.util.find_spec("triton") is None:
        return
    op.register_kernel("cuda")(lambda *arguments: _module(package).forward(*arguments))
    backward.register_kernel("cuda")(lambda *arguments: _module(package).backward(*arguments))


def _module(package: str):
    return importlib.import_module(f"{package}.gpu")
