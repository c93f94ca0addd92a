"""Whole training steps: forward, loss, backward, Adam."""

from __future__ import annotations

from scripts.benchmarks.measures import Measure, Ratio
from scripts.benchmarks.row import at_least, at_most
from scripts.benchmarks.session import Work
from scripts.benchmarks.suites.shapes import MIXERS, Shapes

PAIR = ("signed", "givens")
OVER_OURS = {"givens": 12, "rotation": 3.8, "delta": 2.5, "log": 2.3, "signed": 1.4}
OVER_FLOOR = {PAIR: 1.2, ("delta",): 2.0}
OTHER_MIXERS_OVER_FLOOR = 1.25


def rows(shapes: Shapes, peers: bool) -> list[Measure]:
    shape = {"batch": shapes.batch(), "length": shapes.length(64)}
    found: list[Measure] = [over_package([*PAIR], shape, 8), over_compiled(shape, 10)] if peers else []
    if peers:
        found += [over_package([name], shape, reach) for name, reach in OVER_OURS.items()]
    found += [over_floor(layers, shape) for layers in (PAIR, *((name,) for name in MIXERS))]
    if peers:
        found.append(over_package(["givens"], {"batch": 1, "length": shapes.length(4096)}, 20))
    compiled = Work("ours", "training_step", {"layers": [*PAIR], "compiled": True, **shape}, process="compiled")
    found.append(Ratio(f"training step, {named(PAIR)}, T={shape['length']}: ours / ours compiled", ours([*PAIR], shape), compiled))
    return found


def named(layers) -> str:
    return f"[{', '.join(layers)}]" if len(layers) > 1 else f"one layer of {layers[0]}"


def ours(layers: list[str], shape: dict[str, int]) -> Work:
    return Work("ours", "training_step", {"layers": layers, **shape})


def package(layers: list[str], shape: dict[str, int]) -> Work:
    return Work("package", "training_step", {"layers": layers, **shape}, process="peers")


def over_package(layers: list[str], shape: dict[str, int], reach: float) -> Ratio:
    alone = ", B=1" if shape["batch"] == 1 else ""
    measure = f"training step, {named(layers)}, T={shape['length']}{alone}: published package / ours"
    return Ratio(measure, package(layers, shape), ours(layers, shape), at_least(reach))


def over_compiled(shape: dict[str, int], reach: float) -> Ratio:
    compiled = Work("ours", "training_step", {"layers": [*PAIR], "compiled": True, **shape}, process="compiled")
    measure = f"training step, {named(PAIR)}, T={shape['length']}: published package / ours compiled"
    return Ratio(measure, package([*PAIR], shape), compiled, at_least(reach))


def over_floor(layers: tuple[str, ...], shape: dict[str, int]) -> Ratio:
    floor = Work("ours", "floor_step", {"layers": [*layers], **shape})
    reach = at_most(OVER_FLOOR.get(layers, OTHER_MIXERS_OVER_FLOOR))
    return Ratio(f"training step, {named(layers)}, T={shape['length']}: ours / its floor", ours([*layers], shape), floor, reach)
