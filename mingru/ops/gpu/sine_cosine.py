"""Sine and cosine of one angle; Triton's own carry a rare slow path into each of the many places they are used at."""

import triton
import triton.language as tl


@triton.jit
def _quarter_turns(angle):
    """A count of quarter turns and what is left of the angle, in [-pi/4, pi/4] (Cody and Waite 1980).

    In float32, pi/2 is a sum of which two terms are exact times a count up to 8192. With an angle beyond, all of a tile
    are reduced in float64.
    """
    turns = tl.floor(angle * 0.6366197723675814 + 0.5)
    quarter = turns.to(tl.int32)
    x = angle - turns * 1.5703125 - turns * 4.837512969970703125e-4
    x = x - turns * 7.549790126404332e-08 - turns * -1.7151244994428829e-15
    if tl.max(tl.abs(angle)) > 12867.0:
        wide = angle.to(tl.float64)
        whole = tl.floor(wide * 0.6366197723675814 + 0.5)
        quarter = whole.to(tl.int64).to(tl.int32)
        x = (wide - whole * 1.5707963267948966 - whole * 6.123233995736766e-17).to(tl.float32)
    return quarter, x


@triton.jit
def sine_cosine(angle):
    """In float32 the error is below 1e-7 for angles up to 1e8; the polynomials are from Cephes."""
    if angle.dtype == tl.float64:
        sine, cosine = tl.sin(angle), tl.cos(angle)
    else:
        quarter, x = _quarter_turns(angle)
        z = x * x
        s = (-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1
        c = (2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2
        s, c = x + x * z * s, 1.0 - 0.5 * z + z * z * c
        odd = (quarter & 1) != 0
        first, second = tl.where(odd, c, s), tl.where(odd, s, c)
        sine = tl.where((quarter & 2) != 0, -first, first)
        cosine = tl.where(((quarter + 1) & 2) != 0, -second, second)
    return sine, cosine
