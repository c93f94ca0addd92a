"""One pass over t per head, LANES columns of its state at a time, with the state in the first cache.

A state lies in scratch memory with its V columns padded to whole lanes. The forward pass leaves the state before every
CHUNK-th token behind; the backward pass goes back over these chunks, first recomputing the states inside each.
README.md derives it.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place
from mingru.ops.cpu.lanes import LANES, load, spread, store, total
from mingru.ops.delta_scan import CHUNK
from mingru.ops.layout import packed


@jit
def _pad(source, size, width, target):
    """Copy `size` numbers and fill up to `width` with zeros."""
    for i in range(size):
        target[i] = source[i]
    for i in range(size, width):
        target[i] = 0


@jit
def _copy_rows(source, rows, size, source_width, target, target_width):
    for i in range(rows):
        _pad(after(source, i * source_width), size, max(size, target_width), after(target, i * target_width))


@jit
def _product(vector, state, rows, width, column, like):
    """vector^T state for LANES columns, summed over rows in two strands."""
    even, odd = spread(vector[0]) * load(state, column), spread(like)
    for i in range(1, rows - 1, 2):
        odd = odd + spread(vector[i]) * load(state, i * width + column)
        even = even + spread(vector[i + 1]) * load(state, (i + 1) * width + column)
    if rows % 2 == 0:
        odd = odd + spread(vector[rows - 1]) * load(state, (rows - 1) * width + column)
    return even + odd


@jit
def _micro_step(state, shape, scale, key, value, strength, error, result, like):
    """result = scale * state + strength key error^T, where error = value - (scale * state)^T key."""
    rows, width = shape
    for column in range(0, width, LANES):
        wrong = load(value, column) - spread(scale) * _product(key, state, rows, width, column, like)
        store(error, column, wrong)
        for i in range(rows):
            kept = spread(scale) * load(state, i * width + column)
            store(result, i * width + column, kept + spread(strength * key[i]) * wrong)


@jit
def _micro_step_back(state, shape, scale, key, strength, error, grad, grad_value, grad_key, like):
    """Turn `grad` from the gradient of the result into that of scale * state; return the gradient of strength."""
    rows, width = shape
    products = spread(like)
    for column in range(0, width, LANES):
        pull = _product(key, grad, rows, width, column, like)
        products = products + pull * load(error, column)
        store(grad_value, column, spread(strength) * pull)
    for i in range(rows):
        terms = spread(like)
        for column in range(0, width, LANES):
            at, pull = i * width + column, load(grad_value, column)
            g = load(grad, at)
            push = spread(strength) * load(error, column)
            terms = terms + g * push - spread(scale) * load(state, at) * pull
            store(grad, at, g - spread(key[i]) * pull)
        grad_key[i] = total(terms)
    return total(products)


@jit
def _read_out_back(state, shape, query, grad_output, grad, grad_query, like):
    rows, width = shape
    for i in range(rows):
        terms = spread(like)
        for column in range(0, width, LANES):
            at, g = i * width + column, load(grad_output, column)
            terms = terms + load(state, at) * g
            store(grad, at, load(grad, at) + spread(query[i]) * g)
        grad_query[i] = total(terms)


@jit
def _decay_back(state, shape, scale, grad, like):
    """Turn the gradient of scale * state into that of the state; return the gradient of scale."""
    rows, width = shape
    terms = spread(like)
    for at in range(0, rows * width, LANES):
        g = load(grad, at)
        terms = terms + g * load(state, at)
        store(grad, at, spread(scale) * g)
    return total(terms)


@jit
def _token(place, b, t, offset, like):
    return element(place[0], b * place[1] + t * place[2] + offset, like)


@jit
def _width(columns):
    return (columns + LANES - 1) // LANES * LANES


def _forward(first, last, sizes, like, scratch, query, key, value, strength, state, decay, outputs, final, kept):
    steps, heads, micro_steps, rows, columns = sizes
    width, entries, one = _width(columns), rows * columns, type(like)(1)
    h = element(scratch, 0, like)
    v, error = after(h, rows * width), after(h, (rows + 1) * width)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        _copy_rows(_token(state, b, 0, head * entries, like), rows, columns, columns, h, width)
        for t in range(steps):
            if t % CHUNK == 0:
                _copy_rows(h, rows, columns, width, _token(kept, b, t // CHUNK, head * entries, like), columns)
            scale = _token(decay, b, t, head * decay[3], like)[0]
            for j in range(micro_steps):
                at = j * heads + head
                k, s = _token(key, b, t, at * rows, like), _token(strength, b, t, at, like)[0]
                _pad(_token(value, b, t, at * columns, like), columns, width, v)
                _micro_step(h, (rows, width), scale if j == 0 else one, k, v, s, error, h, like)
            q = _token(query, b, t, head * rows, like)
            for column in range(0, width, LANES):
                store(v, column, _product(q, h, rows, width, column, like))
            _pad(v, columns, columns, _token(outputs, b, t, head * columns, like))
        _copy_rows(h, rows, columns, width, _token(final, b, 0, head * entries, like), columns)


def _backward(
    first, last, sizes, like, scratch, grad_outputs, grad_final, query, key, value, strength, decay, kept,
    grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay,
):  # fmt: skip
    steps, heads, micro_steps, rows, columns = sizes
    width, entries, one = _width(columns), rows * columns, type(like)(1)
    shape, size = (rows, width), rows * width
    grad = element(scratch, 0, like)
    padded = after(grad, size)
    errors = after(padded, width)
    states = after(errors, CHUNK * micro_steps * width)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        _copy_rows(_token(grad_final, b, 0, head * entries, like), rows, columns, columns, grad, width)
        for chunk in range((steps - 1) // CHUNK, -1, -1):
            begin, end = chunk * CHUNK, min(steps, chunk * CHUNK + CHUNK)
            _copy_rows(_token(kept, b, chunk, head * entries, like), rows, columns, columns, states, width)
            for t in range(begin, end):
                scale = _token(decay, b, t, head * decay[3], like)[0]
                for j in range(micro_steps):
                    at, slot = j * heads + head, (t - begin) * micro_steps + j
                    k, s = _token(key, b, t, at * rows, like), _token(strength, b, t, at, like)[0]
                    _pad(_token(value, b, t, at * columns, like), columns, width, padded)
                    h, new = after(states, slot * size), after(states, (slot + 1) * size)
                    _micro_step(
                        h, shape, scale if j == 0 else one, k, padded, s, after(errors, slot * width), new, like
                    )
            for t in range(end - 1, begin - 1, -1):
                _pad(_token(grad_outputs, b, t, head * columns, like), columns, width, padded)
                q, grad_q = _token(query, b, t, head * rows, like), _token(grad_query, b, t, head * rows, like)
                _read_out_back(
                    after(states, (t + 1 - begin) * micro_steps * size), shape, q, padded, grad, grad_q, like
                )
                scale = _token(decay, b, t, head * decay[3], like)[0]
                for j in range(micro_steps - 1, -1, -1):
                    at, slot = j * heads + head, (t - begin) * micro_steps + j
                    k, s = _token(key, b, t, at * rows, like), _token(strength, b, t, at, like)[0]
                    h, error = after(states, slot * size), after(errors, slot * width)
                    _token(grad_strength, b, t, at, like)[0] = _micro_step_back(
                        h,
                        shape,
                        scale if j == 0 else one,
                        k,
                        s,
                        error,
                        grad,
                        padded,
                        _token(grad_key, b, t, at * rows, like),
                        like,
                    )
                    _pad(padded, columns, columns, _token(grad_value, b, t, at * columns, like))
                h = after(states, (t - begin) * micro_steps * size)
                _token(grad_decay, b, t, head, like)[0] = _decay_back(h, shape, scale, grad, like)
        _copy_rows(grad, rows, columns, width, _token(grad_state, b, 0, head * entries, like), columns)


_forward_kernel = Kernel(_forward)
_backward_kernel = Kernel(_backward)


def _sizes(key: Tensor, value: Tensor) -> tuple[int, ...]:
    _, steps, micro_steps, heads, rows = key.shape
    return steps, heads, micro_steps, rows, value.shape[-1]


def _work(state: Tensor, steps: int) -> tuple[int, int]:
    return state.shape[0] * state.shape[1], state.numel() * steps


def forward(
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, strength, state = (
        packed(query, 2), packed(key, 2), packed(value, 2), packed(strength, 2), packed(state, 1)
    )  # fmt: skip
    batch, steps = query.shape[:2]
    heads, rows, columns = state.shape[1:]
    outputs = torch.empty((batch, steps, heads, columns), dtype=state.dtype)
    final = torch.empty(state.shape, dtype=state.dtype)
    kept = torch.empty((batch, -(-steps // CHUNK), heads, rows, columns), dtype=state.dtype)
    width = -(-columns // LANES) * LANES
    places = [place(x, 2) for x in (query, key, value, strength)]
    places += [place(state, 1), place(decay, 3), place(outputs, 2), place(final, 1), place(kept, 2)]
    _forward_kernel(_work(state, steps), state.dtype, _sizes(key, value), (rows + 2) * width, *places)
    return outputs, final, kept


def backward(
    grad_outputs: Tensor, grad_final: Tensor,
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, decay: Tensor, kept: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    grad_outputs, query, key, value, strength, kept = (
        packed(x, 2) for x in (grad_outputs, query, key, value, strength, kept)
    )
    grad_final = packed(grad_final, 1)
    micro_steps, rows, columns = key.shape[2], key.shape[4], value.shape[4]
    width = -(-columns // LANES) * LANES
    scratch = rows * width + width + CHUNK * micro_steps * width + (CHUNK * micro_steps + 1) * rows * width
    results = [torch.empty(x.shape, dtype=x.dtype) for x in (query, key, value, strength, grad_final, decay)]
    places = [place(grad_outputs, 2), place(grad_final, 1)]
    places += [place(x, 2) for x in (query, key, value, strength)] + [place(decay, 3), place(kept, 2)]
    places += [place(x, leading) for x, leading in zip(results, (2, 2, 2, 2, 1, 3), strict=True)]
    _backward_kernel(_work(grad_final, query.shape[1]), query.dtype, _sizes(key, value), scratch, *places)
    return tuple(results)
