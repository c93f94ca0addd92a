"""One pass over t for a head, or for some columns of its state.

Columns of a state never meet in the forward pass: a wide state is cut into tiles of COLUMNS, a program each. In the
backward pass each tile has its own part of the sums over columns, which are added afterwards in a fixed order. A tile
is padded to powers of two with zeros that are never stored.

The forward pass keeps the state before every CHUNK-th token. The backward pass goes back over these chunks: it first
recomputes the states before each micro-step of a chunk into scratch memory, small enough for the second cache.
"""

import triton
import triton.language as tl


@triton.jit
def _places(heads, tiles, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Batch entry, head and tile of this program, its rows and columns, and which of them exist."""
    program = tl.program_id(0).to(tl.int64)
    unit, tile = program // tiles, program % tiles
    rows, columns = tl.arange(0, ROWS), tile * COLUMNS + tl.arange(0, COLUMNS)
    return unit // heads, unit % heads, tile, rows, columns, rows < K, columns < V


@triton.jit
def _token(inputs, times, t):
    """Where the query, key, value, strength and decay of token t lie."""
    return (
        inputs[0] + t * times[0],
        inputs[1] + t * times[1],
        inputs[2] + t * times[2],
        inputs[3] + t * times[3],
        inputs[4] + t * times[4],
    )


@triton.jit
def _error(h, key, value):
    return value - tl.sum(h * key[:, None], axis=0)


@triton.jit
def _step(h, key, value, strength, row, column):
    """The state after a micro-step."""
    k = tl.load(key, mask=row, other=0.0)
    write = tl.load(strength, mask=row, other=0.0) * k
    return h + write[:, None] * _error(h, k, tl.load(value, mask=column, other=0.0))[None, :]


@triton.jit
def forward_kernel(
    query, key, value, strength, state, decay, outputs, final, kept,
    steps, heads, tiles, query_batch, query_time, key_batch, key_time, value_batch, value_time,
    strength_batch, strength_time, state_batch, decay_batch, decay_time, decay_head,
    J: tl.constexpr, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    CHUNK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, head, _, rows, columns, row, column = _places(heads, tiles, K, V, ROWS, COLUMNS)
    entry, inside = rows[:, None] * V + columns[None, :], row[:, None] & column[None, :]
    # Strength and decay are one number for all rows, not a scalar: only what is a tensor is loaded ahead.
    inputs = (
        query + b * query_batch + head * K + rows,
        key + b * key_batch + head * K + rows,
        value + b * value_batch + head * V + columns,
        strength + b * strength_batch + head + 0 * rows,
        decay + b * decay_batch + head * decay_head + 0 * rows,
    )
    times = query_time, key_time, value_time, strength_time, decay_time
    outputs += (b * steps * heads + head) * V + columns
    kept += (b * tl.cdiv(steps, CHUNK) * heads + head) * K * V + entry
    h = tl.load(state + b * state_batch + head * K * V + entry, mask=inside, other=0.0)
    for i in tl.range(0, steps, num_stages=STAGES):
        t = tl.cast(i, tl.int64)
        first = ((t + 0 * columns) % CHUNK == 0)[None, :]
        tl.store(kept + t // CHUNK * heads * K * V, h, mask=inside & first)
        q, k, v, s, d = _token(inputs, times, t)
        h *= tl.load(d, mask=row, other=0.0)[:, None]
        for j in tl.static_range(J):
            h = _step(h, k + j * heads * K, v + j * heads * V, s + j * heads, row, column)
        read = tl.sum(h * tl.load(q, mask=row, other=0.0)[:, None], axis=0)
        tl.store(outputs + t * heads * V, read, mask=column)
    tl.store(final + (b * heads + head) * K * V + entry, h, mask=inside)


@triton.jit
def _recompute(
    h, grad, grad_time, inputs, times, grad_query, scratch, begin, count, heads, row, column,
    J: tl.constexpr, K: tl.constexpr, V: tl.constexpr, SIZE: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Leave in scratch the states before each micro-step of a chunk, and store the gradients of its queries."""
    for i in tl.range(0, count, num_stages=STAGES):
        t = begin + i
        _, k, v, s, d = _token(inputs, times, t)
        for j in tl.static_range(J):
            tl.store(scratch + (i * J + j) * SIZE, h)
            if j == 0:
                h *= tl.load(d, mask=row, other=0.0)[:, None]
            h = _step(h, k + j * heads * K, v + j * heads * V, s + j * heads, row, column)
        g = tl.load(grad + t * grad_time, mask=column, other=0.0)
        tl.store(grad_query + t * heads * K, tl.sum(h * g[None, :], axis=1), mask=row)


@triton.jit
def _reverse(
    g, grad, grad_time, inputs, times, results, scratch, begin, count, heads, row, column,
    J: tl.constexpr, K: tl.constexpr, V: tl.constexpr, SIZE: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Turn the gradient of the state after a chunk into that of the state before it, storing all others."""
    grad_key, grad_value, grad_strength, grad_decay = results
    for i in tl.range(0, count, num_stages=STAGES):
        t = begin + count - 1 - i
        query, key, value, strength, decay = _token(inputs, times, t)
        output = tl.load(grad + t * grad_time, mask=column, other=0.0)
        g += tl.load(query, mask=row, other=0.0)[:, None] * output[None, :]
        kept = tl.load(decay, mask=row, other=0.0)[:, None]
        for j in tl.static_range(J - 1, -1, -1):
            place = (t * J + j) * heads
            h = tl.load(scratch + ((count - 1 - i) * J + j) * SIZE)
            before = h
            if j == 0:
                before = kept * h
            k = tl.load(key + j * heads * K, mask=row, other=0.0)
            s = tl.load(strength + j * heads, mask=row, other=0.0)
            error = _error(before, k, tl.load(value + j * heads * V, mask=column, other=0.0))
            push = tl.sum(g * (s * k)[:, None], axis=0)
            pulled = tl.sum(g * error[None, :], axis=1)
            tl.store(grad_value + place * V, push, mask=column)
            tl.store(grad_key + place * K, s * pulled - tl.sum(before * push[None, :], axis=1), mask=row)
            tl.store(grad_strength + place, tl.sum(k * pulled, axis=0))
            g -= k[:, None] * push[None, :]
            if j == 0:
                tl.store(grad_decay + t * heads, tl.sum(tl.sum(g * h, axis=1), axis=0))
        g *= kept
    return g


@triton.jit
def backward_kernel(
    grad, grad_final, query, key, value, strength, decay, kept,
    grad_query, grad_key, grad_value, grad_strength, grad_state, grad_decay, scratch,
    batch, steps, heads, tiles, grad_batch, grad_time, final_batch, query_batch, query_time, key_batch, key_time,
    value_batch, value_time, strength_batch, strength_time, decay_batch, decay_time, decay_head, kept_batch, kept_time,
    J: tl.constexpr, K: tl.constexpr, V: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    CHUNK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    b, head, tile, rows, columns, row, column = _places(heads, tiles, K, V, ROWS, COLUMNS)
    entry, inside = rows[:, None] * V + columns[None, :], row[:, None] & column[None, :]
    grad += b * grad_batch + head * V + columns
    inputs = (
        query + b * query_batch + head * K + rows,
        key + b * key_batch + head * K + rows,
        value + b * value_batch + head * V + columns,
        strength + b * strength_batch + head + 0 * rows,
        decay + b * decay_batch + head * decay_head + 0 * rows,
    )
    times = query_time, key_time, value_time, strength_time, decay_time
    # A tile's part of a sum over columns has a place of its own.
    part = (tile * batch + b) * steps * heads
    grad_query += (part + head) * K + rows
    results = (
        grad_key + (part * J + head) * K + rows,
        grad_value + (b * steps * J * heads + head) * V + columns,
        grad_strength + part * J + head,
        grad_decay + part + head,
    )
    kept += b * kept_batch + head * K * V + entry
    SIZE: tl.constexpr = ROWS * COLUMNS
    scratch += tl.program_id(0).to(tl.int64) * CHUNK * J * SIZE
    scratch += rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    g = tl.load(grad_final + b * final_batch + head * K * V + entry, mask=inside, other=0.0)
    chunks = tl.cdiv(steps, CHUNK)
    for i in range(0, chunks):
        chunk = tl.cast(chunks, tl.int64) - 1 - i
        begin = chunk * CHUNK
        count = tl.minimum(steps - begin, CHUNK)
        h = tl.load(kept + chunk * kept_time, mask=inside, other=0.0)
        # Scratch memory is written by some threads and read by others, before and after.
        tl.debug_barrier()
        _recompute(
            h, grad, grad_time, inputs, times, grad_query, scratch, begin, count, heads, row, column,
            J, K, V, SIZE, STAGES,
        )  # fmt: skip
        tl.debug_barrier()
        g = _reverse(
            g, grad, grad_time, inputs, times, results, scratch, begin, count, heads, row, column,
            J, K, V, SIZE, STAGES,
        )  # fmt: skip
    tl.store(grad_state + (b * heads + head) * K * V + entry, g, mask=inside)
