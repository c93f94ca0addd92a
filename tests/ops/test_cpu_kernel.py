"""What a kernel does to the process around it: threads, forks, and the compiled code on disk."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import mingru
from mingru.ops.block_scan import block_scan
from mingru.ops.cpu import kernel as cpu_kernel
from mingru.ops.delta_scan import delta_scan
from mingru.ops.diagonal_scan import diagonal_scan
from mingru.ops.givens_scan import givens_scan
from mingru.ops.reflection_scan import reflection_scan
from mingru.ops.rotation_scan import rotation_scan
from mingru.ops.selection_scan import selection_scan
from tests.ops.cases import Case, gradients, results

LARGE = [
    Case(diagonal_scan, (130,), 2),
    Case(rotation_scan, (40,), 3),
    Case(givens_scan, (23, 3, 4), 2),
    Case(block_scan, (23, 3), 2),
    Case(delta_scan, (2, 3, 8, 8), 4),
    Case(reflection_scan, (3, 23, 4), 3),
    Case(selection_scan, (23, 3), 2, {"by_source": True}),
]
# Kernels without the op around them: torch takes seconds to load what the op needs.
DIAGONAL = """
    import torch
    from mingru.ops.diagonal_scan import cpu

    drive = torch.ones(32, 64, 64, dtype=torch.float64)

    def run():
        states = cpu.forward(drive, drive, drive[:, 0])
        assert states[0, -1, 0] == 65
        assert cpu.backward(drive, drive, drive[:, 0], states)[0][0, 0, 0] == 64
"""
COUNT = """
    kernels = (cpu._forward_kernel, cpu._backward_kernel)
    print(*(sum(getattr(kernel._function.stats, count).values()) for count in ("cache_hits", "cache_misses") for kernel in kernels))
"""


def start(script, package=Path(mingru.__file__).parents[1], **environment):
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    environment = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, start_new_session=True, **pipes)


def finish(process):
    try:
        output, error = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        # The group, so that a forked child that hangs goes too.
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, error
    return output


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_two_threads_give_the_same_bits_as_one(case, monkeypatch):
    pools = []
    monkeypatch.setattr(cpu_kernel, "_pool", lambda *key, make=cpu_kernel._pool: pools.append(key) or make(*key))
    arguments = case.arguments(9, 70, torch.float32)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        outputs = results(case.op, arguments)
        found.append(outputs + gradients(outputs, arguments))
    assert (os.getpid(), 1) in pools
    assert (os.getpid(), 2) in pools
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))


def test_a_short_call_starts_no_thread(monkeypatch):
    monkeypatch.setattr(cpu_kernel, "_pool", lambda *key: pytest.fail("a thread for a handful of numbers"))
    torch.set_num_threads(2)
    diagonal_scan(*LARGE[0].arguments(1, 1))


def test_a_second_process_compiles_nothing():
    case = Case(diagonal_scan, (2,), 2)
    arguments = case.arguments(1, 1)
    gradients(results(case.op, arguments), arguments)
    assert finish(start(f"{DIAGONAL}\n    run()\n{COUNT}")).split() == ["1", "1", "0", "0"]


@pytest.mark.slow
def test_processes_that_start_together_compile_once(tmp_path):
    script = f"{DIAGONAL}\n    run()\n{COUNT}"
    started = [start(script, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    counts = [list(map(int, finish(process).split())) for process in started]
    assert [sum(column) for column in zip(*counts, strict=True)] == [1, 1, 1, 1]


@pytest.mark.slow
def test_a_package_and_a_home_that_cannot_be_written_still_run(tmp_path):
    package = tmp_path / "mingru"
    package.mkdir()
    for path in Path(mingru.__file__).parent.glob("ops/**/*.py"):
        copy = package / path.relative_to(Path(mingru.__file__).parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    for folder in {path.parent for path in package.glob("**/*.py")}:
        (folder / "__pycache__").write_text("a file where the cache's folder would be")
    unwritable = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    finish(start(f"{DIAGONAL}\n    run()", package=tmp_path, **unwritable))


def test_a_fork_after_use_does_not_hang():
    # torch's own threads do not survive a fork either, so nothing here is large but the arguments of the kernels.
    script = f"""{DIAGONAL}
    import os
    from mingru.ops.cpu import kernel as cpu_kernel

    torch.set_num_threads(2)
    run()
    child = os.fork()
    if child == 0:
        run()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run()
    assert cpu_kernel._pool.cache_info().currsize == 1
    """
    finish(start(script))


def test_importing_every_op_imports_neither_numba_nor_triton():
    script = """
    import sys
    import mingru.ops.block_scan, mingru.ops.delta_scan, mingru.ops.diagonal_scan
    import mingru.ops.givens_scan, mingru.ops.rotation_scan, mingru.ops.reflection_scan, mingru.ops.selection_scan
    print("numba" in sys.modules, "triton" in sys.modules)
    """
    assert finish(start(script)).split() == ["False", "False"]
