"""Cyclic groups."""

import numpy as np

from tasks.algebra.cayley import CayleyTable


def cyclic_group(order: int) -> CayleyTable:
    """C_n: residues under addition modulo n, element i being i."""
    if order < 1:
        raise ValueError(f"a cyclic group has order 1 or more, got {order}")
    residues = np.arange(order)
    return CayleyTable((residues[:, None] + residues) % order)
