"""Learning rates over a run, as factors of `lr`: a schedule is given the number of steps and tells the factor of each, 0 the first."""

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def hold_then_linear(total: int, share: float = 0.3) -> Schedule:
    """1, and over the last `share` of the steps linearly towards 0, which the step after the last would have."""
    if not 0 < share <= 1:
        raise ValueError(f"schedule: share must be above 0 and at most 1, got {share}")
    return lambda step: min(1.0, (total - step) / (share * total))


def cosine(total: int, warmup: float = 0.0, floor: float = 0.0) -> Schedule:
    """Linearly up to 1 over the share `warmup` of the steps, then half a cosine wave down to `floor` at the end.

    Source: Loshchilov and Hutter 2017, arXiv:1608.03983, without restarts.
    """
    if not 0 <= warmup < 1 or not 0 <= floor <= 1:
        raise ValueError(f"schedule: warmup must lie in [0, 1) and floor in [0, 1], got warmup={warmup}, floor={floor}")
    rise = round(warmup * total)

    def factor(step: int) -> float:
        if step < rise:
            return (step + 1) / rise
        return floor + (1 - floor) * (1 + math.cos(math.pi * (step - rise) / (total - rise))) / 2

    return factor
