"""Groups with two generators, each normalised by the other or trivial: cyclic, dihedral, dicyclic, and products C_n : C_m."""

import math

import numpy as np

from tasks.algebra.cayley import LARGEST_TABLE, CayleyTable


def metacyclic_group(n: int, m: int, r: int, s: int = 0) -> CayleyTable:
    """<a, x | a^n = 1, x^m = a^s, x a x^-1 = a^r>; a^i x^j, with i < n and j < m, is element i + n * j.

    ValueError unless the relations leave n * m elements: r^m = 1 and s(r - 1) = 0 modulo n.
    """
    if n < 1 or m < 1 or n * m > LARGEST_TABLE:
        raise ValueError(f"a group with a table has order 1 to {LARGEST_TABLE}, got {n} * {m}")
    if (pow(r, m, n) - 1) % n or s * (r - 1) % n:
        raise ValueError(f"no group of order {n} * {m} has x^{m} = a^{s} and x a x^-1 = a^{r}")
    power_of_r = np.array([pow(r, j, n) for j in range(m)])
    j, i = np.divmod(np.arange(n * m), n)
    carry, exponent = np.divmod(j[:, None] + j, m)
    rotation = (i[:, None] + power_of_r[j][:, None] * i + s * carry) % n
    return CayleyTable.known(rotation + n * exponent)


def cyclic_group(order: int) -> CayleyTable:
    """C_n: residues under addition modulo n, element i being i."""
    if not 1 <= order <= LARGEST_TABLE:
        raise ValueError(f"a cyclic group with a table has order 1 to {LARGEST_TABLE}, got {order}")
    return metacyclic_group(order, 1, 1)


def dihedral_group(n: int) -> CayleyTable:
    """D_n, of order 2n: rotations 0..n-1, then the reflections a^i x, with x a x = a^-1."""
    if not 1 <= n <= LARGEST_TABLE // 2:
        raise ValueError(f"a dihedral group D_n with a table has n from 1 to {LARGEST_TABLE // 2}, got {n}")
    return metacyclic_group(n, 2, -1)


def dicyclic_group(n: int) -> CayleyTable:
    """Dic_n, of order 4n: a has order 2n, x^2 = a^n, x a x^-1 = a^-1. Dic_2 is the quaternion group."""
    if not 1 <= n <= LARGEST_TABLE // 4:
        raise ValueError(f"a dicyclic group Dic_n with a table has n from 1 to {LARGEST_TABLE // 4}, got {n}")
    return metacyclic_group(2 * n, 2, -1, n)


def generalised_quaternion_group(order: int) -> CayleyTable:
    """Q8, Q16, ..., that is Dic_n with n a power of 2."""
    if order < 8 or order & (order - 1):
        raise ValueError(f"a quaternion group has order 8, 16, 32, ..., got {order}")
    return dicyclic_group(order // 4)


def semidirect_of_cyclic(n: int, m: int, r: int | None = None) -> CayleyTable:
    """C_n : C_m with x a x^-1 = a^r. Without r: the least one whose order modulo n is as large as m allows (C7:C3 has r = 2)."""
    if n < 1 or m < 1:
        raise ValueError(f"C_n : C_m has n and m of 1 or more, got {n} and {m}")
    return metacyclic_group(n, m, _best_multiplier(n, m) if r is None else r)


def _best_multiplier(n: int, m: int) -> int:
    def order(r: int) -> int:
        return next(k for k in range(1, m + 1) if (pow(r, k, n) - 1) % n == 0)

    allowed = [r for r in range(1, n + 1) if math.gcd(r, n) == 1 and (pow(r, m, n) - 1) % n == 0]
    return max(allowed, key=lambda r: (order(r), -r))
