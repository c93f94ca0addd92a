"""Groups by name."""

import functools
import re
from collections.abc import Callable

import numpy as np

from tasks.algebra import matrices, metacyclic
from tasks.algebra.files import is_table_file, read_group
from tasks.algebra.gap import small_group
from tasks.algebra.permutations import alternating_group, alternating_points, symmetric_group, symmetric_points
from tasks.algebra.products import DirectProduct, wreath_product
from tasks.algebra.transitions import Group, Indices

EXAMPLES = (
    "C6 D4 S4 A5 Q8 Dic3 SL(2,3) GL(2,3) Heis3 C7:C3 C8:3:C2 SmallGroup(24,3), products A4_x_Z5, wreath products C2_wr_S3, "
    "or a .csv or .npy file with the table"
)
# Pairs of numbers are written SL(2,3) or, where a shell or Hydra wants quotes around brackets, SL2_3.
_PAIR = r"\(?(\d+)[,_](\d+)\)?"
_FAMILIES: list[tuple[str, Callable[..., Group]]] = [
    (r"[CZ](\d+)", metacyclic.cyclic_group),
    (r"D(\d+)", metacyclic.dihedral_group),
    (r"Dic(\d+)", metacyclic.dicyclic_group),
    (r"Q(\d+)", metacyclic.generalised_quaternion_group),
    (r"[CZ](\d+):[CZ](\d+)", metacyclic.semidirect_of_cyclic),
    (r"[CZ](\d+):(\d+):[CZ](\d+)", lambda n, r, m: metacyclic.semidirect_of_cyclic(n, m, r)),
    (r"S(\d+)", symmetric_group),
    (r"A(\d+)", alternating_group),
    (rf"SL{_PAIR}", matrices.special_linear_group),
    (rf"GL{_PAIR}", matrices.general_linear_group),
    (r"Heis(\d+)", matrices.heisenberg_group),
    (rf"SmallGroup{_PAIR}", small_group),
]
_PLACES: list[tuple[str, Callable[[int], Indices]]] = [
    (r"S(\d+)", symmetric_points),
    (r"A(\d+)", alternating_points),
    (r"[CZ](\d+)", lambda n: (np.arange(n)[:, None] + np.arange(n)) % n),
    (
        r"D(\d+)",
        lambda n: np.concatenate([(k + sign * np.arange(n)) % n for sign in (1, -1) for k in np.arange(n)[:, None]]).reshape(-1, n),
    ),
]


def named_group(name: str) -> Group:
    """The group that a name such as `A4_x_Z5`, or a file with its table, stands for. ValueError, one line, where there is none.

    `:` is a semidirect product of cyclic groups (C7:C3; the multiplier may stand between, C8:3:C2), `_wr_` a wreath product with S, A, C
    or D acting on its usual points, `_x_` a direct product; they bind in this order. Z is another letter for C.
    """
    return read_group(name) if is_table_file(name) else known_group(name)


# A file may change, a name does not.
@functools.cache
def known_group(name: str) -> Group:
    factors = [_wreath(factor, name) for factor in name.split("_x_")]
    return factors[0] if len(factors) == 1 else DirectProduct(factors)


def _wreath(factor: str, name: str) -> Group:
    base, *tops = factor.split("_wr_")
    group = _matching(_FAMILIES, base, name)
    for top in tops:
        group = wreath_product(group, _matching(_PLACES, top, name))
    return group


def _matching(families: list, text: str, name: str):
    for pattern, family in families:
        if found := re.fullmatch(pattern, text):
            return family(*map(int, found.groups()))
    part = "" if text == name else f"{text!r} in "
    if families is _PLACES:
        raise ValueError(f"group {name!r}: a wreath product has S, A, C or D on its right, such as C2_wr_S3, got {text!r}")
    raise ValueError(f"group {part}{name!r} is unknown; valid: {EXAMPLES}")
