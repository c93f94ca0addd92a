"""Triton reads TRITON_INTERPRET when it is imported, so its interpreter and its compiler each get a process of their own."""

import importlib.util
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.ops.gpu import compiled, interpreted


def _process(start, *arguments):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton has no build for this platform")
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=start, initargs=arguments)


@pytest.fixture(scope="session")
def interpreter():
    """Run a function of `interpreted` where every op runs on its Triton kernels, interpreted."""
    with _process(interpreted.start) as process:
        yield lambda function, *arguments: process.submit(function, *arguments).result()


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    """Run a function of `compiled` where starting a Triton kernel only compiles it, without a GPU."""
    with _process(compiled.start, str(tmp_path_factory.mktemp("triton"))) as process:
        yield lambda function, *arguments: process.submit(function, *arguments).result()
