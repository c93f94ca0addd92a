"""Pendulums: the physics, the noise and the pictures, against scipy and by eye."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from tasks.pendulum import Pendulum, _swing
from tasks.pendulum_images import PICTURES, SIDE, PendulumImages, _fall, pictures


def drawn(task, batch, length):
    return task.sample(torch.Generator().manual_seed(3), batch, length)


def test_angles_solve_the_equation_of_motion():
    start, speed, gaps = np.array([0.8]), np.array([-0.5]), np.array([[0, 0.3, 0.05, 0.2, 0.3, 0.3]])
    found = np.empty_like(gaps)
    _swing(start, speed, gaps, 20, found)
    exact = solve_ivp(lambda t, y: [y[1], -9.81 * math.sin(y[0])], (0, 2), [0.8, -0.5], t_eval=gaps[0].cumsum(), rtol=1e-11, atol=1e-12)
    assert found[0] == pytest.approx(exact.y[0], abs=1e-7)


def test_a_reading_is_the_target_with_a_little_noise_and_gaps_are_uneven():
    inputs, targets, gaps = drawn(Pendulum("pendulum"), 500, 16)
    assert targets.square().sum(-1) == pytest.approx(torch.ones(500, 16).numpy(), abs=1e-5)
    assert (inputs - targets).std() == pytest.approx(0.05, abs=0.001)
    assert (gaps[:, 0] == 0).all()
    assert 0.05 <= gaps[:, 1:].min() <= gaps[:, 1:].max() <= 0.3
    assert gaps[:, 1:].mean() == pytest.approx(0.175, abs=0.005)
    assert (Pendulum("pendulum").oracle(drawn(Pendulum("pendulum"), 500, 16)) - targets).square().mean() == pytest.approx(0.0025, abs=1e-4)


def test_the_floor_of_a_longer_sequence_goes_on_from_that_of_a_shorter_one():
    long, short = (Pendulum("pendulum").position_chance(n) for n in (40, 24))
    assert torch.equal(long[:24], short)
    assert (long < 0.2).all()


def test_energy_is_kept_without_friction_and_noise():
    start = np.linspace(0.1, 3, 8)
    angles = np.empty((8, 200))
    _fall(start, np.zeros((8, 200)), 0.0, angles)
    speeds = np.gradient(angles, 0.01, axis=1)
    energy = speeds**2 / 2 + 29.43 * np.cos(angles)
    # Euler steps gain a little.
    assert np.abs(energy[:, 2:-2] - 29.43 * np.cos(start)[:, None]).max() < 1.0


def test_falling_follows_the_equation_of_motion():
    angles = np.empty((1, 50))
    _fall(np.array([1.0]), np.zeros((1, 50)), 0.1, angles)
    exact = solve_ivp(
        lambda t, y: [y[1], 29.43 * math.sin(y[0]) - 0.1 * y[1]], (0, 0.5), [1.0, 0.0], t_eval=np.arange(50) * 0.01, rtol=1e-10
    )
    assert angles[0] == pytest.approx(exact.y[0], abs=0.02)


def test_a_picture_is_a_bar_from_the_centre_at_its_angle():
    bars = pictures().view(PICTURES, SIDE, SIDE)
    assert bars.min() == 0
    assert bars.max() == 1
    # A length of 55 and a width of 8 in a square of 128, in pixels of 24.
    assert bars.sum((1, 2)) == pytest.approx([55 * 8 * (SIDE / 128) ** 2] * PICTURES, rel=0.1)
    centre = SIDE // 2
    for turn, rows, columns in ((0, slice(0, centre), slice(10, 14)), (PICTURES // 4, slice(10, 14), slice(centre, SIDE))):
        assert bars[turn, rows, columns].sum().item() == pytest.approx(bars[turn].sum().item(), abs=1e-5)
    for quarter in (1, 2, 3):
        assert torch.equal(bars[quarter * PICTURES // 4], bars[0].rot90(-quarter))


def test_a_film_keeps_half_the_frames_in_order_and_its_first_ones_are_clean():
    task = PendulumImages("film")
    inputs, targets, gaps = drawn(task, 40, 20)
    _, frames = task._filmed(torch.Generator().manual_seed(3), 40, 20)
    assert 0 <= frames.min() <= frames.max() < 40
    assert (gaps[:, 0] == 1).all()
    assert torch.equal(gaps[:, 1:], frames.diff(dim=1).float())
    assert (gaps >= 1).all()
    clean = frames < 5
    angle = torch.atan2(targets[..., 0], targets[..., 1])
    turns = (angle * (PICTURES / (2 * math.pi))).round().long() % PICTURES
    assert torch.equal(inputs[clean], pictures()[turns[clean]])
    assert 0 <= inputs.min() <= inputs.max() <= 1
    assert targets.square().sum(-1) == pytest.approx(torch.ones(40, 20).numpy(), abs=1e-5)
    found = task.oracle(drawn(task, 40, 20))
    assert (found - targets)[clean].abs().max() < 0.05


def test_later_frames_are_hidden_more_or_less():
    """f is 0 in some frames and 1 in others, and mostly between."""
    clear = PendulumImages("film")._clearness(torch.Generator().manual_seed(0), 2000, 100)
    assert (clear[:, :5] == 1).all()
    later = clear[:, 20:]
    assert 0.05 < (later == 0).double().mean() < 0.4
    assert 0.05 < (later == 1).double().mean() < 0.4
    assert (later.diff(dim=1).abs() <= 0.2 / 0.5 + 1e-6).all()
