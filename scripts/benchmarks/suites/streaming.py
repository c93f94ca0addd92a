"""One token at a time, batch 1, on one thread."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Ratio
from scripts.benchmarks.row import at_least
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import MIXERS, Shapes

KINDS = {"stack_stream": "a stack of one {name} layer, tokens to logits", "layer_stream": "{name} layer alone"}


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    package = [over_package(function, name) for function in KINDS for name in MIXERS] if peers else []
    return package + [over_gru(name) for name in MIXERS]


def over_package(function: str, name: str) -> Ratio:
    """Tokens per second of ours over theirs: time a token of theirs over ours."""
    theirs = Work("package", function, {"name": name}, process="peers", threads=1)
    ours = Work("ours", function, {"name": name}, threads=1)
    measure = f"streaming step, {KINDS[function].format(name=name)}: tokens per second, ours / published package"
    return Ratio(measure, theirs, ours, at_least(2))


def over_gru(name: str) -> Ratio:
    gru, ours = Work("others", "recurrent_stream", {"kind": "GRU"}, threads=1), Work("ours", "layer_stream", {"name": name}, threads=1)
    return Ratio(f"streaming step, {name} layer alone: tokens per second, ours / nn.GRU on one token", gru, ours)
