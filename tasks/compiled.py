"""Inner loops as machine code."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """`loop`, compiled by Numba when it is first called; later processes read the machine code from a cache on disk.

    The loop must keep to itself: Numba looks for changes in its own file only.
    """

    @functools.cache
    def machine_code() -> Callable[..., Any]:
        # Numba is slow to import, and most of this package does without it.
        import numba

        try:
            return numba.njit(cache=True, nogil=True)(loop)
        except RuntimeError:
            # Neither this folder nor the user's cache folder can be written: compile in every process.
            return numba.njit(nogil=True)(loop)

    @functools.wraps(loop)
    def call(*arguments: Any) -> Any:
        return machine_code()(*arguments)

    return call  # type: ignore[return-value]
