import numpy
import pytest

from mingru.ops.cpu.kernel import element, jit
from mingru.ops.cpu.sine_cosine import FAR, sine_cosine

BOUND = {numpy.float32: 1e-7, numpy.float64: 2.5e-16}


@jit
def _through_pointers(angle, count, sine, cosine, like):
    sine_cosine(element(angle, 0, like), count, element(sine, 0, like), element(cosine, 0, like), like)


def both(angle):
    sine, cosine = numpy.full_like(angle, numpy.nan), numpy.full_like(angle, numpy.nan)
    _through_pointers(angle.ctypes.data, angle.size, sine.ctypes.data, cosine.ctypes.data, angle.dtype.type(0))
    return sine, cosine


@pytest.mark.parametrize("number", BOUND)
@pytest.mark.parametrize("scale", [1e-3, 1, 100, 0.2 * FAR, 1e6])
def test_the_error_is_a_rounding_at_any_angle(number, scale):
    angle = (scale * numpy.random.randn(20_001)).astype(number)
    sine, cosine = both(angle)
    exact = angle.astype(numpy.longdouble)
    assert abs(sine - numpy.sin(exact)).max() < BOUND[number]
    assert abs(cosine - numpy.cos(exact)).max() < BOUND[number]


@pytest.mark.parametrize("number", BOUND)
def test_quarter_turns_land_on_the_axes(number):
    turns = numpy.arange(-64, 65)
    sine, cosine = both((turns * (numpy.pi / 2)).astype(number))
    assert numpy.allclose(sine, numpy.array([0, 1, 0, -1])[turns % 4], atol=1e-5 if number is numpy.float32 else 1e-13)
    assert numpy.allclose(cosine, numpy.array([1, 0, -1, 0])[turns % 4], atol=1e-5 if number is numpy.float32 else 1e-13)


@pytest.mark.parametrize("number", BOUND)
def test_an_angle_that_is_not_finite_gives_nan_and_spares_its_neighbours(number):
    sine, cosine = both(numpy.array([1, numpy.nan, numpy.inf, -numpy.inf, 1], number))
    for result, value in ((sine, numpy.sin(1)), (cosine, numpy.cos(1))):
        assert numpy.isnan(result[1:4]).all()
        assert numpy.allclose(result[[0, 4]], value)


@pytest.mark.parametrize("number", BOUND)
def test_a_far_neighbour_changes_no_bit(number):
    angle = numpy.random.randn(37).astype(number)
    among = numpy.append(angle, number(1e6))
    for alone, beside in zip(both(angle), both(among), strict=True):
        assert (alone == beside[:-1]).all()


def test_zero_is_exact():
    sine, cosine = both(numpy.zeros(17, numpy.float32))
    assert (sine == 0).all()
    assert (cosine == 1).all()
