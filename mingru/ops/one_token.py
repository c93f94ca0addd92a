"""One token through a whole mixer as one CPU kernel, without gradients: projection, gates, recurrence, output.

A token is so little work that the ten calls of torch which it would take cost more than what they compute. The recurrences are
the ops' own kernels at a length of one. `Mixer.step` comes here when there is nothing to record, trace or transform.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn

from mingru.ops.cpu.kernel import Kernel, after, element, jit
from mingru.ops.cpu.lanes import load, plus, total, zeros
from mingru.ops.delta_scan import cpu as delta_cpu
from mingru.ops.diagonal_scan import cpu as diagonal_cpu
from mingru.ops.givens_scan import cpu as givens_cpu
from mingru.ops.rotation_scan import cpu as rotation_cpu

LANES = (0,) * 16
# As F.normalize has it: a key shorter than this is not made longer.
SHORTEST = 1e-12

_scan_channels, _turn_pairs, _turn_blocks, _correct = (jit(op.scan) for op in (diagonal_cpu, rotation_cpu, givens_cpu, delta_cpu))


@jit
def _affine(x, linear, height, width, target, lanes, like):
    """target = weight x + bias, each sum in a fixed order."""
    weight, bias = element(linear[0], 0, like), element(linear[1], 0, like)
    zero, whole = zeros(like, lanes), width // len(lanes) * len(lanes)
    for i in range(height):
        row, products = after(weight, i * width), zero
        for j in range(0, whole, len(lanes)):
            products = plus(products, load(x, j, zero), load(row, j, zero))
        result = bias[i] + total(products)
        for j in range(whole, width):
            result += x[j] * row[j]
        target[i] = result


@jit
def _sigmoid(u):
    one = type(u)(1)
    return one / (one + math.exp(-u))


@jit
def _gated(gate, candidate, size):
    """The candidate times its gate, in its place."""
    for i in range(size):
        candidate[i] *= _sigmoid(gate[i])


@jit
def _at(address, offset, item):
    """The place of a token that lies at an offset: nothing is strided within one."""
    return address + offset * item, 0, 0, 0


@jit
def _copy(source, size, target):
    for i in range(size):
        target[i] = source[i]


def _log(first, last, sizes, like, scratch, lanes, projection, tensors):
    (item, width), (x, state, y, new) = sizes, tensors
    gate, candidate = element(scratch, 0, like), element(scratch, width, like)
    half, one = type(like)(0.5), type(like)(1)
    for b in range(first, last):
        _affine(element(x, b * width, like), projection, 2 * width, width, gate, lanes, like)
        for i in range(width):
            z, u = _sigmoid(gate[i]), candidate[i]
            gate[i] = one - z
            candidate[i] = z * (u + half if u >= 0 else _sigmoid(u))
        at = _at(state, b * width, item), _at(new, b * width, item)
        _scan_channels(0, 1, (1, width, width), like, scratch, _at(scratch, 0, item), _at(scratch, width, item), *at)
        _copy(element(new, b * width, like), width, element(y, b * width, like))


def _signed(first, last, sizes, like, scratch, lanes, projection, tensors):
    (item, width, coupled), (x, state, y, new) = sizes, tensors
    gate, candidate, decay = element(scratch, 0, like), element(scratch, width, like), element(scratch, 2 * width, like)
    for b in range(first, last):
        _affine(element(x, b * width, like), projection, 3 * width, width, gate, lanes, like)
        for i in range(width):
            z = _sigmoid(gate[i])
            candidate[i] *= z
            decay[i] = math.tanh(decay[i]) * (type(like)(1) - z if coupled else type(like)(1))
        at = _at(state, b * width, item), _at(new, b * width, item)
        _scan_channels(0, 1, (1, width, width), like, scratch, _at(scratch, 2 * width, item), _at(scratch, width, item), *at)
        _copy(element(new, b * width, like), width, element(y, b * width, like))


def _rotation(first, last, sizes, like, scratch, lanes, projection, tensors):
    (item, width, blocks, order), (x, state, y, new) = sizes, tensors
    number, drive, scales, one = type(like), width, 2 * width + blocks, 3 * width
    gate, candidate = element(scratch, 0, like), element(scratch, drive, like)
    angle, scale, orders = element(scratch, 2 * width, like), element(scratch, scales, like), element(order, 0, np.int64(0))
    for b in range(first, last):
        element(scratch, one, like)[0] = 1
        _affine(element(x, b * width, like), projection, 3 * width, width, gate, lanes, like)
        _gated(gate, candidate, width)
        for n in range(blocks):
            scale[n] = math.tanh(scale[n])
            if order != 0:
                turns = number(orders[n])
                step = number(2 * math.pi) / turns
                angle[n] = np.rint(angle[n] / step) % turns * step
        coefficients = _at(scratch, 2 * width, item), _at(scratch, scales, item), _at(scratch, drive, item)
        states = _at(state, b * width, item), _at(scratch, one, item), _at(new, b * width, item)
        _turn_pairs(0, 1, (1, blocks, blocks), like, scratch + (one + 1) * item, *coefficients, *states)
        _copy(element(new, b * width, like), width, element(y, b * width, like))


def _givens(first, last, sizes, like, scratch, lanes, planes, projection, tensors):
    (item, width, blocks, rounds), (x, state, y, new) = sizes, tensors
    angles = width // 2 * rounds
    drive, one = angles + width, angles + 2 * width
    for b in range(first, last):
        element(scratch, one, like)[0] = 1
        _affine(element(x, b * width, like), projection, one, width, element(scratch, 0, like), lanes, like)
        _gated(element(scratch, angles, like), element(scratch, drive, like), width)
        places = _at(scratch, 0, item), _at(scratch, drive, item), _at(state, b * width, item), _at(scratch, one, item)
        sizes_of_scan = 1, blocks, rounds, blocks
        _turn_blocks(0, 1, sizes_of_scan, like, scratch + (one + 1) * item, planes, *places, _at(new, b * width, item))
        _copy(element(new, b * width, like), width, element(y, b * width, like))


def _delta(first, last, sizes, like, scratch, lanes, columns_at_once, rows_at_once, projection, output, tensors):
    (item, width, heads, micro_steps, rows, columns), (x, state, y, new) = sizes, tensors
    keys, number = heads * micro_steps, type(like)
    key = heads * rows
    value = key + keys * rows
    strength = value + keys * columns
    one, result, kept = strength + keys, strength + keys + 1, strength + keys + 1 + heads * columns
    free = kept + heads * rows * columns
    for b in range(first, last):
        _affine(element(x, b * width, like), projection, one, width, element(scratch, 0, like), lanes, like)
        element(scratch, one, like)[0] = 1
        for n in range(keys):
            vector, squares = element(scratch, key + n * rows, like), number(0)
            for i in range(rows):
                squares += vector[i] * vector[i]
            length = max(math.sqrt(squares), number(SHORTEST))
            for i in range(rows):
                vector[i] /= length
            element(scratch, strength, like)[n] = number(2) * _sigmoid(element(scratch, strength, like)[n])
        inputs = _at(scratch, 0, item), _at(scratch, key, item), _at(scratch, value, item), _at(scratch, strength, item)
        states = _at(state, b * heads * rows * columns, item), _at(scratch, one, item)
        results = _at(scratch, result, item), _at(new, b * heads * rows * columns, item), _at(scratch, kept, item)
        shape = 1, heads, micro_steps, rows, columns
        _correct(0, heads, shape, like, scratch + free * item, columns_at_once, rows_at_once, *inputs, *states, *results)
        _affine(element(scratch, result, like), output, width, heads * columns, element(y, b * width, like), lanes, like)


_log_kernel, _signed_kernel, _rotation_kernel, _givens_kernel, _delta_kernel = map(Kernel, (_log, _signed, _rotation, _givens, _delta))


def _call(
    kernel: Kernel, x: Tensor, state: Tensor, sizes: tuple[int, ...], scratch: int, *places: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    x, state = x.contiguous(), state.contiguous()
    y, new = torch.empty_like(x), torch.empty_like(state)
    tensors = x.data_ptr(), state.data_ptr(), y.data_ptr(), new.data_ptr()
    batch, width = x.shape
    kernel((batch, batch * width * width), x.dtype, (x.itemsize, *sizes), scratch, LANES, *places, tensors)
    return y, new


def _linear(layer: nn.Module) -> tuple[int, int]:
    # The attributes of a module take longer to find than this whole function.
    parameters = layer._parameters
    return parameters["weight"].data_ptr(), parameters["bias"].data_ptr()


def log(projection: nn.Module, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    width = x.shape[-1]
    return _call(_log_kernel, x, state, (width,), 2 * width, _linear(projection))


def signed(projection: nn.Module, x: Tensor, state: Tensor, coupled: bool) -> tuple[Tensor, Tensor]:
    width = x.shape[-1]
    return _call(_signed_kernel, x, state, (width, int(coupled)), 3 * width, _linear(projection))


def rotation(projection: nn.Module, x: Tensor, state: Tensor, order: Tensor | None) -> tuple[Tensor, Tensor]:
    """`order` as `Rotation` keeps it; None for free angles."""
    width, blocks = x.shape[-1], state.shape[1]
    address = 0 if order is None else order.data_ptr()
    return _call(_rotation_kernel, x, state, (width, blocks, address), 3 * width + 1 + 5 * blocks, _linear(projection))


def givens(projection: nn.Module, x: Tensor, state: Tensor, rounds: int) -> tuple[Tensor, Tensor]:
    width, (blocks, size) = x.shape[-1], state.shape[1:]
    planes = size // 2
    scratch = blocks * planes * rounds + 2 * width + 1 + 2 * rounds * planes * (blocks + 1)
    return _call(_givens_kernel, x, state, (width, blocks, rounds), scratch, (0,) * planes, _linear(projection))


def delta(projection: nn.Module, output: nn.Module, x: Tensor, state: Tensor, micro_steps: int) -> tuple[Tensor, Tensor]:
    width, (heads, rows, columns) = x.shape[-1], state.shape[1:]
    pattern = delta_cpu.columns_at_once(columns)
    projected = heads * (rows + micro_steps * (rows + columns + 1))
    scratch = projected + 1 + heads * columns * (1 + rows) + rows * len(pattern)
    sizes = width, heads, micro_steps, rows, columns
    return _call(_delta_kernel, x, state, sizes, scratch, pattern, (0,) * rows, _linear(projection), _linear(output))
