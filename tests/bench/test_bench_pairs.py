"""Interleaved pairs, on sides whose times are made up."""

from __future__ import annotations

import itertools

import pytest

from scripts.benchmarks.pairs import interleaved, iterations_for


class Machine:
    """Every iteration of a side takes its `cost`, times a slowness that grows with every second that passes."""

    def __init__(self, drift: float = 0.0) -> None:
        self.now, self.drift, self.log = 0.0, drift, []

    def side(self, name: str, cost: float) -> MadeUp:
        return MadeUp(self, name, cost)


class MadeUp:
    def __init__(self, machine: Machine, name: str, cost: float) -> None:
        self.machine, self.name, self.cost = machine, name, cost

    def seconds(self, iterations: int, warm: int) -> float:
        taken = iterations * self.cost * (1 + self.machine.drift * self.machine.now)
        self.machine.now += taken
        self.machine.log.append((self.name, iterations, warm))
        return taken


def nothing() -> None:
    pass


def test_the_ratio_of_two_steady_sides_is_exact():
    machine = Machine()
    found = interleaved(machine.side("slow", 0.04), machine.side("fast", 0.01), 7, 0.2, nothing)
    assert len(found) == 7
    assert [over / under for over, under in found] == pytest.approx([4.0] * 7)


def test_the_sides_take_turns_at_going_first():
    machine = Machine()
    interleaved(machine.side("a", 0.3), machine.side("b", 0.3), 4, 0.3, nothing)
    assert [name for name, *_ in machine.log[-8:]] == ["a", "b", "b", "a", "a", "b", "b", "a"]


def test_a_drift_falls_on_both_sides():
    machine = Machine(drift=0.02)
    found = interleaved(machine.side("a", 0.1), machine.side("b", 0.1), 6, 0.5, nothing)
    ratios = sorted(over / under for over, under in found)
    assert ratios[0] < 0.999 < 1.001 < ratios[-1]
    assert (ratios[2] + ratios[3]) / 2 == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("cost", "expected"), [(0.1, 3), (0.01, 30), (2.0, 1), (1e-5, 30_000)])
def test_a_sample_has_as_many_iterations_as_take_its_time(cost, expected):
    iterations, warm = iterations_for(Machine().side("a", cost), 0.3)
    assert iterations == pytest.approx(expected, abs=1)
    assert warm == (cost < 0.5)


def test_what_is_shown_is_shown_between_pairs_only():
    machine, shown = Machine(), []
    interleaved(machine.side("a", 0.3), machine.side("b", 0.3), 3, 0.3, lambda: shown.append(len(machine.log)))
    assert len(shown) == 3
    assert all(later - sooner == 2 for sooner, later in itertools.pairwise(shown))
