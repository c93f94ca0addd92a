"""One pass over all vectors, each of them one value. README.md has the gradient."""

import math

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, element, fetch_to_read, fetch_to_write, inlined, place
from mingru.ops.cpu.lanes import load, minus, spread, store, total, zeros
from mingru.ops.layout import packed
from mingru.ops.unit_vectors.reference import SHORTEST

# So many tokens before it is their turn, memory is fetched.
AHEAD = 4


@inlined
def _length(vector):
    return math.sqrt(total(vector * vector))


@inlined
def _vector(place, b, t, offset, like):
    return element(place[0], b * place[1] + t * place[2] + offset, like)


def _forward(first, last, sizes, like, scratch, pattern, vectors, results):
    (steps, count), zero, shortest = sizes, zeros(like, pattern), type(like)(SHORTEST)
    for b in range(first, last):
        for t in range(steps):
            for n in range(count):
                at = n * len(pattern)
                fetch_to_read(_vector(vectors, b, t + AHEAD, at, like))
                fetch_to_write(_vector(results, b, t + AHEAD, at, like))
                x = load(_vector(vectors, b, t, at, like), 0, zero)
                length = _length(x)
                # Not max(), which would lose NaN.
                inverse = type(like)(1) / (shortest if length < shortest else length)
                store(_vector(results, b, t, at, like), 0, x * spread(inverse, zero))


def _backward(first, last, sizes, like, scratch, pattern, grads, vectors, results):
    (steps, count), zero, shortest = sizes, zeros(like, pattern), type(like)(SHORTEST)
    for b in range(first, last):
        for t in range(steps):
            for n in range(count):
                at = n * len(pattern)
                fetch_to_read(_vector(grads, b, t + AHEAD, at, like))
                fetch_to_read(_vector(vectors, b, t + AHEAD, at, like))
                fetch_to_write(_vector(results, b, t + AHEAD, at, like))
                x, g = load(_vector(vectors, b, t, at, like), 0, zero), load(_vector(grads, b, t, at, like), 0, zero)
                length = _length(x)
                if length < shortest:
                    g = g * spread(type(like)(1) / shortest, zero)
                else:
                    inverse = spread(type(like)(1) / length, zero)
                    unit = x * inverse
                    g = minus(g, unit, spread(total(unit * g), zero)) * inverse
                store(_vector(results, b, t, at, like), 0, g)


_forward_kernel, _backward_kernel = Kernel(_forward), Kernel(_backward)


def forward(vectors: Tensor) -> Tensor:
    return _map(_forward_kernel, vectors)


def backward(grad: Tensor, vectors: Tensor) -> Tensor:
    return _map(_backward_kernel, grad, vectors)


def _map(kernel: Kernel, *tensors: Tensor) -> Tensor:
    tensors = [packed(x, 2) for x in tensors]
    batch, steps, count, size = tensors[0].shape
    result = torch.empty((batch, steps, count, size), dtype=tensors[0].dtype)
    places = [place(x, 2) for x in (*tensors, result)]
    kernel((batch, result.numel()), result.dtype, (steps, count), 0, (0,) * size, *places)
    return result
