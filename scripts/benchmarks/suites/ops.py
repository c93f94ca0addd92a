"""Each recurrence alone, forward and backward."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Ratio
from scripts.benchmarks.row import at_least
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import OPS, Shapes

# The package's scan and our op that computes the same states.
SCANS = (
    ("matrix_affine_scan", "givens_scan"),
    ("matrix_scan", "rotation_scan"),
    ("linear_scan", "diagonal_scan"),
    ("parallel_scan_log", "diagonal_scan"),
)
# At T=1024 one pair takes the package many seconds and gigabytes.
LONG_BATCH, LONG_PAIRS = 32, 3


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    found = [over_loop(op, shapes) for op in OPS]
    if peers:
        found += [over_package(*SCANS[0], shapes, 64, 128, reach=at_least(60))]
        found += [over_package(*SCANS[0], shapes, 1024, LONG_BATCH, LONG_PAIRS, at_least(100))]
        found += [over_package(*pair, shapes, 64, 128) for pair in SCANS[1:]]
        found += [over_assoc_scan(shapes, length) for length in (64, 1024)]
    return found


def over_loop(op: str, shapes: Shapes) -> Ratio:
    shape = {"batch": shapes.batch(), "length": shapes.length(64)}
    measure = f"{op} alone, T={shape['length']}: plain loop in torch / ours"
    return Ratio(measure, Work("ops", "loop", {"name": op, **shape}), Work("ops", "op", {"name": op, **shape}))


def over_package(scan: str, op: str, shapes: Shapes, length: int, batch: int, pairs: int | None = None, reach=None) -> Ratio:
    shape = {"batch": shapes.batch(batch), "length": shapes.length(length)}
    of_batch = "" if batch == 128 else f", B={shape['batch']}"
    measure = f"{op} alone, T={shape['length']}{of_batch}: published package's {scan} / ours"
    theirs = Work("package", "scan", {"name": scan, **shape}, process="peers")
    return Ratio(measure, theirs, Work("ops", "op", {"name": op, **shape}), reach, pairs=pairs)


def over_assoc_scan(shapes: Shapes, length: int) -> Ratio:
    shape = {"batch": shapes.batch(), "length": shapes.length(length)}
    measure = f"diagonal_scan alone, T={shape['length']}: assoc-scan / ours"
    return Ratio(measure, Work("others", "assoc_scan", shape, process="peers"), Work("ops", "op", {"name": "diagonal_scan", **shape}))
