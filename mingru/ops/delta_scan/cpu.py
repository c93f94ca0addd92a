"""One pass over t per head, a group of columns of its state at a time, with the state in the first cache.

A state lies in scratch memory with its V columns padded to whole groups. The forward pass leaves the state before every
CHUNK-th token behind; the backward pass goes back over these chunks, first recomputing the states inside each.
README.md derives it.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, jit, place
from mingru.ops.cpu.lanes import load, minus, plus, spread, store, total, zeros
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
def _whole(source, size, width, spare):
    """A row that fills whole groups of columns: the source if it does so, else a padded copy."""
    if size == width:
        return source
    _pad(source, size, width, spare)
    return spare


@jit
def _copy(source, source_width, size, rows, target, target_width):
    """Copy `size` columns of each row, padding what is left of a row of the target."""
    for i in range(rows):
        _pad(after(source, i * source_width), size, max(size, target_width), after(target, i * target_width))


@jit
def _product(vector, state, shape, column, zero):
    """vector^T state for a group of columns, summed over rows in two strands."""
    rows, width, _ = shape
    even, odd = spread(vector[0], zero) * load(state, column, zero), zero
    for i in range(1, rows - 1, 2):
        odd = plus(odd, spread(vector[i], zero), load(state, i * width + column, zero))
        even = plus(even, spread(vector[i + 1], zero), load(state, (i + 1) * width + column, zero))
    if rows % 2 == 0:
        odd = plus(odd, spread(vector[rows - 1], zero), load(state, (rows - 1) * width + column, zero))
    return even + odd


@jit
def _micro_step(state, shape, scale, key, value, strength, error, result, zero):
    """result = scale * state + strength key error^T, where error = value - (scale * state)^T key."""
    rows, width, lanes = shape
    scales = spread(scale, zero)
    for column in range(0, width, lanes):
        wrong = minus(load(value, column, zero), scales, _product(key, state, shape, column, zero))
        store(error, column, wrong)
        for i in range(rows):
            kept = scales * load(state, i * width + column, zero)
            store(result, i * width + column, plus(kept, spread(strength * key[i], zero), wrong))


@jit
def _micro_step_back(state, shape, scale, key, strength, error, grad, grad_value, grad_key, zero):
    """Turn `grad` from the gradient of the result into that of scale * state; return the gradient of strength."""
    rows, width, lanes = shape
    products = zero
    for column in range(0, width, lanes):
        wrong, received = load(error, column, zero), _product(key, grad, shape, column, zero)
        products = plus(products, received, wrong)
        pull, push = spread(strength, zero) * received, spread(strength, zero) * wrong
        store(grad_value, column, pull)
        drawn = spread(scale, zero) * pull
        for i in range(rows):
            at = i * width + column
            g = load(grad, at, zero)
            part = total(minus(g * push, load(state, at, zero), drawn))
            grad_key[i] = part if column == 0 else grad_key[i] + part
            store(grad, at, minus(g, spread(key[i], zero), pull))
    return total(products)


@jit
def _read_out_back(state, shape, query, grad_output, grad, grad_query, zero):
    rows, width, lanes = shape
    for column in range(0, width, lanes):
        g = load(grad_output, column, zero)
        for i in range(rows):
            at = i * width + column
            part = total(load(state, at, zero) * g)
            grad_query[i] = part if column == 0 else grad_query[i] + part
            store(grad, at, plus(load(grad, at, zero), spread(query[i], zero), g))


@jit
def _decay_back(state, shape, scale, grad, zero):
    """Turn the gradient of scale * state into that of the state; return the gradient of scale."""
    rows, width, lanes = shape
    terms = zero
    for at in range(0, rows * width, lanes):
        g = load(grad, at, zero)
        terms = plus(terms, g, load(state, at, zero))
        store(grad, at, spread(scale, zero) * g)
    return total(terms)


@jit
def _token(place, b, t, offset, like):
    return element(place[0], b * place[1] + t * place[2] + offset, like)


@jit
def _shape(sizes, pattern):
    lanes = len(pattern)
    return sizes[3], (sizes[4] + lanes - 1) // lanes * lanes, lanes


def scan(first, last, sizes, like, scratch, pattern, query, key, value, strength, state, decay, outputs, final, kept):
    steps, heads, micro_steps, rows, columns = sizes
    shape, zero, entries, one = _shape(sizes, pattern), zeros(like, pattern), rows * columns, type(like)(1)
    _, width, lanes = shape
    h = element(scratch, 0, like)
    spare, error = after(h, rows * width), after(h, (rows + 1) * width)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        _copy(_token(state, b, 0, head * entries, like), columns, columns, rows, h, width)
        for t in range(steps):
            if t % CHUNK == 0:
                _copy(h, width, columns, rows, _token(kept, b, t // CHUNK, head * entries, like), columns)
            scale = _token(decay, b, t, head * decay[3], like)[0]
            for j in range(micro_steps):
                at = j * heads + head
                k, s = _token(key, b, t, at * rows, like), _token(strength, b, t, at, like)[0]
                v = _whole(_token(value, b, t, at * columns, like), columns, width, spare)
                _micro_step(h, shape, scale if j == 0 else one, k, v, s, error, h, zero)
            q = _token(query, b, t, head * rows, like)
            y = _token(outputs, b, t, head * columns, like)
            target = y if columns == width else spare
            for column in range(0, width, lanes):
                store(target, column, _product(q, h, shape, column, zero))
            if columns < width:
                _pad(spare, columns, columns, y)
        _copy(h, width, columns, rows, _token(final, b, 0, head * entries, like), columns)


@jit
def _replay(b, head, span, sizes, shape, key, value, strength, decay, spare, errors, states, like, zero):
    """From states[0] recompute the state before every micro-step of a span of tokens, the one after it, and the errors."""
    _, heads, micro_steps, rows, columns = sizes
    size = rows * shape[1]
    for t in range(*span):
        for j in range(micro_steps):
            at, slot = j * heads + head, (t - span[0]) * micro_steps + j
            scale = _token(decay, b, t, head * decay[3], like)[0] if j == 0 else type(like)(1)
            k, s = _token(key, b, t, at * rows, like), _token(strength, b, t, at, like)[0]
            v = _whole(_token(value, b, t, at * columns, like), columns, shape[1], spare)
            h, error = after(states, slot * size), after(errors, slot * shape[1])
            _micro_step(h, shape, scale, k, v, s, error, after(h, size), zero)


def _backward(
    first, last, sizes, like, scratch, pattern, grad_outputs, grad_final, query, key, value, strength, decay, kept,
    grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay,
):  # fmt: skip
    steps, heads, micro_steps, rows, columns = sizes
    shape, zero, entries, one = _shape(sizes, pattern), zeros(like, pattern), rows * columns, type(like)(1)
    width, size = shape[1], rows * shape[1]
    grad = element(scratch, 0, like)
    spare, errors = after(grad, size), after(grad, size + width)
    states = after(errors, CHUNK * micro_steps * width)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        _copy(_token(grad_final, b, 0, head * entries, like), columns, columns, rows, grad, width)
        for chunk in range((steps - 1) // CHUNK, -1, -1):
            begin, end = chunk * CHUNK, min(steps, chunk * CHUNK + CHUNK)
            _copy(_token(kept, b, chunk, head * entries, like), columns, columns, rows, states, width)
            _replay(b, head, (begin, end), sizes, shape, key, value, strength, decay, spare, errors, states, like, zero)
            for t in range(end - 1, begin - 1, -1):
                before, slots = after(states, (t - begin) * micro_steps * size), (t - begin) * micro_steps
                g = _whole(_token(grad_outputs, b, t, head * columns, like), columns, width, spare)
                q, grad_q = _token(query, b, t, head * rows, like), _token(grad_query, b, t, head * rows, like)
                _read_out_back(after(before, micro_steps * size), shape, q, g, grad, grad_q, zero)
                scale = _token(decay, b, t, head * decay[3], like)[0]
                for j in range(micro_steps - 1, -1, -1):
                    at = j * heads + head
                    k, grad_k = _token(key, b, t, at * rows, like), _token(grad_key, b, t, at * rows, like)
                    s, error = _token(strength, b, t, at, like)[0], after(errors, (slots + j) * width)
                    grad_v = _token(grad_value, b, t, at * columns, like)
                    pull = grad_v if columns == width else spare
                    _token(grad_strength, b, t, at, like)[0] = _micro_step_back(
                        after(before, j * size), shape, scale if j == 0 else one, k, s, error, grad, pull, grad_k, zero
                    )
                    if columns < width:
                        _pad(spare, columns, columns, grad_v)
                _token(grad_decay, b, t, head, like)[0] = _decay_back(before, shape, scale, grad, zero)
        _copy(grad, width, columns, rows, _token(grad_state, b, 0, head * entries, like), columns)


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)


def _shares(key: Tensor, value: Tensor) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...], int]:
    """Units and numbers touched, sizes, a pattern of as many numbers as columns are handled together, the padded row."""
    batch, steps, micro_steps, heads, rows = key.shape
    columns = value.shape[-1]
    work = batch * heads, batch * steps * heads * rows * columns
    return work, (steps, heads, micro_steps, rows, columns), *columns_at_once(columns)


def columns_at_once(columns: int) -> tuple[tuple[int, ...], int]:
    """A pattern of as many numbers as columns are handled together, and the width of a row padded to that."""
    lanes = 8 if columns <= 8 else 16
    return (0,) * lanes, -(-columns // lanes) * lanes


def forward(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, strength = (packed(x, 2) for x in (query, key, value, strength))
    state = packed(state, 1)
    batch, steps = query.shape[:2]
    heads, rows, columns = state.shape[1:]
    outputs = torch.empty((batch, steps, heads, columns), dtype=state.dtype)
    final = torch.empty(state.shape, dtype=state.dtype)
    kept = torch.empty((batch, -(-steps // CHUNK), heads, rows, columns), dtype=state.dtype)
    work, sizes, pattern, width = _shares(key, value)
    places = [place(x, 2) for x in (query, key, value, strength)]
    places += [place(state, 1), place(decay, 3), place(outputs, 2), place(final, 1), place(kept, 2)]
    _forward_kernel(work, state.dtype, sizes, (rows + 2) * width, pattern, *places)
    return outputs, final, kept


def backward(
    grad_outputs: Tensor, grad_final: Tensor,
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, decay: Tensor, kept: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    grad_outputs, query, key, value, strength, kept = (packed(x, 2) for x in (grad_outputs, query, key, value, strength, kept))
    grad_final = packed(grad_final, 1)
    micro_steps, rows = key.shape[2], key.shape[4]
    work, sizes, pattern, width = _shares(key, value)
    # The gradient of the state, one padded row, and of a chunk the errors and states, with the state after it.
    scratch = (rows + 1) * width + CHUNK * micro_steps * width + (CHUNK * micro_steps + 1) * rows * width
    results = [torch.empty(x.shape, dtype=x.dtype) for x in (query, key, value, strength, grad_final, decay)]
    places = [place(grad_outputs, 2), place(grad_final, 1)]
    places += [place(x, 2) for x in (query, key, value, strength)] + [place(decay, 3), place(kept, 2)]
    places += [place(x, leading) for x, leading in zip(results, (2, 2, 2, 2, 1, 3), strict=True)]
    _backward_kernel(work, query.dtype, sizes, scratch, pattern, *places)
    return tuple(results)
