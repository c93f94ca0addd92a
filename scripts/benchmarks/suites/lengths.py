"""Layers and ops against sequence length: time beside nn.GRU's, time per token, memory."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Quotient, Ratio
from scripts.benchmarks.row import Point, at_most
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import MIXERS, OPS, Shapes

LENGTHS = (64, 256, 1024)
# Beyond the table's lengths, with fewer sequences: as many tokens as at 1024.
LONG, LONG_BATCH = 4096, 32
# At 1024 the package's givens layer needs more memory than a desktop has.
PACKAGE_LENGTHS = (64, 256)
MOST_OVER_GRU = {"delta": 1.0}
# What came after the numbers to reach were set is measured alongside.
WITHOUT_REACH = {"reflection_scan", "selection_scan"}
MEMORY_LENGTH, MEMORY_BATCH, REPEATS = 4096, 16, 3


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    sizes = [(shapes.length(length), shapes.batch()) for length in LENGTHS]
    long = (shapes.length(LONG), shapes.batch(LONG_BATCH))
    found: list[Measure] = [over_gru(name, *size, reach=True) for name in MIXERS for size in sizes]
    found += [over_gru(name, *long, reach=False) for name in MIXERS]
    found += [lstm_over_gru(*size) for size in (*sizes, long)]
    if peers:
        found += [over_package(name, shapes.length(length), shapes.batch()) for name in MIXERS for length in PACKAGE_LENGTHS]
        found += [over_mingru_pytorch(*size) for size in sizes]
    found += [per_token(op, shapes) for op in OPS]
    return found + memory(shapes)


def over_gru(name: str, length: int, batch: int, reach: bool) -> Ratio:
    shape = {"batch": batch, "length": length}
    points = Point("length", f"{name} layer", length, 0, batch * length), Point("length", "nn.GRU", length, 1, batch * length)
    gru = Work("others", "recurrent", {"kind": "GRU", **shape})
    return Ratio(
        f"{name} layer alone, T={length}{batch_of(batch, length)}: ours / nn.GRU",
        Work("ours", "layer", {"name": name, **shape}),
        gru,
        at_most(MOST_OVER_GRU.get(name, 0.6)) if reach else None,
        points=points,
    )


def batch_of(batch: int, length: int) -> str:
    """Named where it is not the one that the table is for."""
    return f", B={batch}" if length >= LONG else ""


def lstm_over_gru(length: int, batch: int) -> Ratio:
    shape = {"batch": batch, "length": length}
    lstm, gru = (Work("others", "recurrent", {"kind": kind, **shape}) for kind in ("LSTM", "GRU"))
    measure = f"layer alone, T={length}{batch_of(batch, length)}: nn.LSTM / nn.GRU"
    return Ratio(measure, lstm, gru, points=(Point("length", "nn.LSTM", length, 0, batch * length),))


def over_package(name: str, length: int, batch: int) -> Ratio:
    shape = {"name": name, "batch": batch, "length": length}
    points = (Point("length", f"{name} layer, published package", length, 0, batch * length),)
    theirs, ours = Work("package", "layer", shape, process="peers"), Work("ours", "layer", shape)
    return Ratio(f"{name} layer alone, T={length}: published package / ours", theirs, ours, points=points)


def over_mingru_pytorch(length: int, batch: int) -> Ratio:
    shape = {"batch": batch, "length": length}
    points = (Point("length", "minGRU-pytorch layer", length, 0, batch * length),)
    theirs, ours = Work("others", "mingru_pytorch", shape, process="peers"), Work("ours", "layer", {"name": "log", **shape})
    return Ratio(f"log layer alone, T={length}: minGRU-pytorch / ours", theirs, ours, points=points)


def per_token(op: str, shapes: Shapes) -> Ratio:
    """As many tokens in one sequence as in a batch of 64."""
    short, long = shapes.length(1024), shapes.length(65536)
    works = [Work("ops", "op", {"name": op, "batch": long // length, "length": length}) for length in (long, short)]
    measure = f"{op} alone, time per token: T={long:,}, B=1 / T={short:,}, B={long // short}"
    return Ratio(measure, *works, None if op in WITHOUT_REACH else at_most(1.2))


def memory(shapes: Shapes) -> list[Measure]:
    length, batch = shapes.length(MEMORY_LENGTH), shapes.batch(MEMORY_BATCH)
    shape = {"batch": batch, "length": length, "repeats": REPEATS}
    whole = [
        Quotient(
            f"peak memory of a training step, one layer of {name}, T={length}, B={batch} / what autograd keeps",
            Work("memory", "step_over_saved", {"layers": [name], **shape}, process="memory"),
            at_most(1.5),
        )
        for name in MIXERS
    ]
    alone = [
        Quotient(
            f"peak memory, {name} layer alone, T={length}, B={batch} / its op's coefficients and states",
            Work("memory", "layer_over_recurrence", {"name": name, **shape}, process="memory"),
            at_most(1.5),
        )
        for name in MIXERS
    ]
    return whole + alone
