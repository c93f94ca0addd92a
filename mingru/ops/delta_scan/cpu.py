"""One pass over t per head, a group of columns of its state at a time, with the state in registers.

The forward pass leaves the state before every CHUNK-th token behind; the backward pass goes back over these chunks, first
recomputing the states inside each. README.md derives it.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, element, fetch_to_read, fetch_to_write, inlined, jit, place, row
from mingru.ops.cpu.lanes import load, spread, store, total, zeros
from mingru.ops.cpu.rows import add_outer, load_rows, overlap, product, scaled, store_rows, totals, totals_of_difference
from mingru.ops.delta_scan import CHUNK
from mingru.ops.layout import packed

# So many tokens before it is their turn, memory is fetched.
AHEAD = 12


@jit
def _copy(source, source_width, size, rows, target, target_width):
    """Copy `size` columns of each row."""
    for i in range(rows):
        for c in range(size):
            target[i * target_width + c] = source[i * source_width + c]


@inlined
def _some(source, count, pattern, zero, spare):
    """Lanes from `count` numbers, filled up with zeros."""
    if count == len(pattern):
        return load(source, 0, zero)
    store(spare, 0, zero)
    _copy(source, 0, count, 1, spare, 0)
    return load(spare, 0, zero)


@inlined
def _put_some(lanes, target, count, pattern, spare):
    if count == len(pattern):
        store(target, 0, lanes)
    else:
        store(spare, 0, lanes)
        _copy(spare, 0, count, 1, target, 0)


@inlined
def _matrix(source, width, count, pattern, height, rows, zero, spare):
    """A group of `count` columns of a matrix of a width, filled up with zeros."""
    if count == len(pattern):
        return load_rows(source, width, zero, height)
    for i in range(rows):
        store(spare, i * len(pattern), zero)
    _copy(source, width, count, rows, spare, len(pattern))
    return load_rows(spare, len(pattern), zero, height)


@inlined
def _put_matrix(matrix, target, width, count, pattern, rows, spare):
    if count == len(pattern):
        store_rows(target, width, matrix)
    else:
        store_rows(spare, len(pattern), matrix)
        _copy(spare, len(pattern), count, rows, target, width)


@inlined
def _put_totals(sums, target, column, pattern, height, spare):
    """What a group of columns adds to a sum over columns, for each row."""
    if column == 0 and len(height) % len(pattern) == 0:
        store_rows(target, len(pattern), sums)
    else:
        store_rows(spare, len(pattern), sums)
        for i in range(len(height)):
            target[i] = spare[i] if column == 0 else target[i] + spare[i]


@inlined
def _put_total(products, target, column):
    part = total(products)
    target[0] = part if column == 0 else target[0] + part


@inlined
def _decayed(state, scale, zero):
    # A decay of 1 leaves every bit as it is.
    return state if scale == 1 else scaled(state, spread(scale, zero))


def scan(first, last, sizes, like, scratch, pattern, height, query, key, value, strength, state, decay, outputs, final, kept):
    steps, heads, micro_steps, rows, columns = sizes
    lanes, zero, spare = len(pattern), zeros(like, pattern), element(scratch, 0, like)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        for column in range(0, columns, lanes):
            count, entry = min(lanes, columns - column), head * rows * columns + column
            h = _matrix(row(state, b, 0, entry, like), columns, count, pattern, height, rows, zero, spare)
            for t in range(steps):
                if t % CHUNK == 0:
                    _put_matrix(h, row(kept, b, t // CHUNK, entry, like), columns, count, pattern, rows, spare)
                h = _decayed(h, row(decay, b, t, head * decay[3], like)[0], zero)
                fetch_to_read(row(query, b, t + AHEAD, head * rows, like))
                fetch_to_write(row(outputs, b, t + AHEAD, head * columns + column, like))
                for j in range(micro_steps):
                    at = j * heads + head
                    fetch_to_read(row(key, b, t + AHEAD, at * rows, like))
                    fetch_to_read(row(value, b, t + AHEAD, at * columns + column, like))
                    k, s = row(key, b, t, at * rows, like), row(strength, b, t, at, like)[0]
                    v = _some(row(value, b, t, at * columns + column, like), count, pattern, zero, spare)
                    error = v - product(k, h)
                    # Between, so that the key is read again and not kept in registers that the state needs.
                    store(spare, 0, error)
                    h = add_outer(h, k, spread(s, zero) * error)
                y = product(row(query, b, t, head * rows, like), h)
                _put_some(y, row(outputs, b, t, head * columns + column, like), count, pattern, spare)
            _put_matrix(h, row(final, b, 0, entry, like), columns, count, pattern, rows, spare)


@jit
def _replay(place, span, sizes, pattern, height, kept, inputs, results, spare, errors, states, like):
    """The state before every micro-step of a span of tokens, the one after it, and the errors."""
    (b, head, column), (_, heads, micro_steps, rows, columns) = place, sizes
    (grad_outputs, query, key, value, strength, decay), (grad_query, grad_key, grad_value, _, _) = inputs, results
    lanes, zero, count = len(pattern), zeros(like, pattern), min(len(pattern), columns - column)
    entry, slot = head * rows * columns + column, 0
    h = _matrix(row(kept, b, span[0] // CHUNK, entry, like), columns, count, pattern, height, rows, zero, spare)
    for t in range(*span):
        fetch_to_read(row(query, b, t, head * rows, like))
        fetch_to_read(row(grad_outputs, b, t, head * columns + column, like))
        fetch_to_write(row(grad_query, b, t, head * rows, like))
        for j in range(micro_steps):
            fetch_to_write(row(grad_key, b, t, (j * heads + head) * rows, like))
            fetch_to_write(row(grad_value, b, t, (j * heads + head) * columns + column, like))
            store_rows(after(states, slot * rows * lanes), lanes, h)
            if j == 0:
                h = _decayed(h, row(decay, b, t, head * decay[3], like)[0], zero)
            at = j * heads + head
            k, s = row(key, b, t, at * rows, like), row(strength, b, t, at, like)[0]
            v = _some(row(value, b, t, at * columns + column, like), count, pattern, zero, spare)
            error = v - product(k, h)
            store(errors, slot * lanes, error)
            h = add_outer(h, k, spread(s, zero) * error)
            slot += 1
    store_rows(after(states, slot * rows * lanes), lanes, h)


@inlined
def _token_back(grad, place, t, slot, sizes, pattern, height, inputs, results, spare, errors, states, like):
    """From the gradient of the state after a token to that of the state before it, which lies in a slot."""
    (b, head, column), (_, heads, micro_steps, rows, columns) = place, sizes
    (grad_outputs, query, key, _, strength, decay), (grad_query, grad_key, grad_value, grad_strength, grad_decay) = inputs, results
    lanes, zero, one, count = len(pattern), zeros(like, pattern), type(like)(1), min(len(pattern), columns - column)
    g = _some(row(grad_outputs, b, t, head * columns + column, like), count, pattern, zero, spare)
    h = load_rows(after(states, (slot + micro_steps) * rows * lanes), lanes, zero, height)
    _put_totals(totals(h, g), row(grad_query, b, t, head * rows, like), column, pattern, height, spare)
    grad = add_outer(grad, row(query, b, t, head * rows, like), g)
    scale = row(decay, b, t, head * decay[3], like)[0]
    for j in range(micro_steps - 1, -1, -1):
        at = j * heads + head
        k, s = row(key, b, t, at * rows, like), spread(row(strength, b, t, at, like)[0], zero)
        h = load_rows(after(states, (slot + j) * rows * lanes), lanes, zero, height)
        received, error = product(k, grad), load(errors, (slot + j) * lanes, zero)
        pull = s * received
        _put_some(pull, row(grad_value, b, t, at * columns + column, like), count, pattern, spare)
        _put_total(received * error, row(grad_strength, b, t, at, like), column)
        sums = totals_of_difference(grad, s * error, h, pull * spread(scale if j == 0 else one, zero))
        _put_totals(sums, row(grad_key, b, t, at * rows, like), column, pattern, height, spare)
        grad = add_outer(grad, k, zero - pull)
    h = load_rows(after(states, slot * rows * lanes), lanes, zero, height)
    _put_total(overlap(grad, h), row(grad_decay, b, t, head, like), column)
    return _decayed(grad, scale, zero)


def _backward(
    first, last, sizes, like, scratch, pattern, height, grad_outputs, grad_final, query, key, value, strength, decay, kept,
    grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay,
):  # fmt: skip
    steps, heads, micro_steps, rows, columns = sizes
    lanes, zero, spare = len(pattern), zeros(like, pattern), element(scratch, 0, like)
    errors, states = after(spare, rows * lanes), after(spare, (rows + CHUNK * micro_steps) * lanes)
    inputs, results = (grad_outputs, query, key, value, strength, decay), (grad_query, grad_key, grad_value, grad_strength, grad_decay)
    for unit in range(first, last):
        b, head = unit // heads, unit % heads
        for column in range(0, columns, lanes):
            place, count, entry = (b, head, column), min(lanes, columns - column), head * rows * columns + column
            grad = _matrix(row(grad_final, b, 0, entry, like), columns, count, pattern, height, rows, zero, spare)
            for chunk in range((steps - 1) // CHUNK, -1, -1):
                span = chunk * CHUNK, min(steps, chunk * CHUNK + CHUNK)
                _replay(place, span, sizes, pattern, height, kept, inputs, results, spare, errors, states, like)
                for t in range(span[1] - 1, span[0] - 1, -1):
                    slot = (t - span[0]) * micro_steps
                    grad = _token_back(grad, place, t, slot, sizes, pattern, height, inputs, results, spare, errors, states, like)
            _put_matrix(grad, row(grad_state, b, 0, entry, like), columns, count, pattern, rows, spare)


_forward_kernel, _backward_kernel = Kernel(scan), Kernel(_backward)


def _shares(key: Tensor, value: Tensor) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The work, the sizes, and what a kernel is compiled for: a pattern of the columns it handles at once, and one of all rows."""
    batch, steps, micro_steps, heads, rows = key.shape
    columns = value.shape[-1]
    return (batch * heads, value.numel() * rows), (steps, heads, micro_steps, rows, columns), columns_at_once(columns), (0,) * rows


def columns_at_once(columns: int) -> tuple[int, ...]:
    return (0,) * (8 if columns <= 8 else 16)


def forward(query: Tensor, key: Tensor, value: Tensor, strength: Tensor, state: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value, strength = (packed(x, 2) for x in (query, key, value, strength))
    state = packed(state, 1)
    batch, steps = query.shape[:2]
    heads, rows, columns = state.shape[1:]
    outputs = torch.empty((batch, steps, heads, columns), dtype=state.dtype)
    final = torch.empty(state.shape, dtype=state.dtype)
    kept = torch.empty((batch, -(-steps // CHUNK), heads, rows, columns), dtype=state.dtype)
    work, sizes, pattern, height = _shares(key, value)
    places = [place(x, 2) for x in (query, key, value, strength)]
    places += [place(state, 1), place(decay, 3), place(outputs, 2), place(final, 1), place(kept, 2)]
    _forward_kernel(work, state.dtype, sizes, rows * len(pattern), pattern, height, *places)
    return outputs, final, kept


def backward(
    grad_outputs: Tensor, grad_final: Tensor,
    query: Tensor, key: Tensor, value: Tensor, strength: Tensor, decay: Tensor, kept: Tensor,
) -> tuple[Tensor, ...]:  # fmt: skip
    grad_outputs, query, key, value, strength, kept = (packed(x, 2) for x in (grad_outputs, query, key, value, strength, kept))
    grad_final = packed(grad_final, 1)
    work, sizes, pattern, height = _shares(key, value)
    # A spare matrix, and of a chunk the errors and states, with the state after it.
    slots = CHUNK * key.shape[2]
    scratch = (slots + (slots + 2) * len(height)) * len(pattern)
    results = [torch.empty(x.shape, dtype=x.dtype) for x in (query, key, value, strength, grad_final, decay)]
    places = [place(grad_outputs, 2), place(grad_final, 1)]
    places += [place(x, 2) for x in (query, key, value, strength)] + [place(decay, 3), place(kept, 2)]
    places += [place(x, leading) for x, leading in zip(results, (2, 2, 2, 2, 1, 3), strict=True)]
    _backward_kernel(work, query.dtype, sizes, scratch, pattern, height, *places)
    return tuple(results)
