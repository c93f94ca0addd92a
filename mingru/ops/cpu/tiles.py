"""Tiles: numbers of many sequences side by side, so that a step of a recurrence is a loop over neighbouring numbers.

A sequence is one block of one batch entry. A tile has one row per entry of a block (or per coefficient) and in it one
number per sequence, padded to whole lanes. A kernel's unit is as many sequences as its tiles hold.
"""

from mingru.ops.cpu.kernel import after, element, jit, prefetch
from mingru.ops.cpu.lanes import LANES, load, spread, store


@jit
def spot(unit, tile, batch, blocks, ahead):
    """The first sequence of a unit, how many it has, how many are one batch entry, the padded row, the direction of t."""
    sequences = min(tile, batch * blocks - unit * tile)
    return unit * tile, sequences, blocks, (sequences + LANES - 1) // LANES * LANES, ahead


@jit
def read(source, spot, t, rows, stride, tile, like):
    """Fill a tile from token t of a tensor whose blocks are `stride` apart.

    Starts to load token t + `ahead` too: the pieces are too short for the processor to see where they lead.
    """
    first, sequences, blocks, pitch, ahead = spot
    b, n = first // blocks, first % blocks
    for sequence in range(sequences):
        values = element(source[0], b * source[1] + t * source[2] + n * stride, like)
        for c in range(0, rows, LANES):
            prefetch(after(values, ahead * source[2] + c))
        for c in range(rows):
            tile[c * pitch + sequence] = values[c]
        n += 1
        if n == blocks:
            b, n = b + 1, 0


@jit
def write(target, spot, t, rows, stride, tile, like):
    """The reverse of read."""
    first, sequences, blocks, pitch, ahead = spot
    b, n = first // blocks, first % blocks
    for sequence in range(sequences):
        values = element(target[0], b * target[1] + t * target[2] + n * stride, like)
        for c in range(0, rows, LANES):
            prefetch(after(values, ahead * target[2] + c))
        for c in range(rows):
            values[c] = tile[c * pitch + sequence]
        n += 1
        if n == blocks:
            b, n = b + 1, 0


@jit
def zero(count, tile):
    """Fill the padding, which takes part in the arithmetic, once and for all."""
    for i in range(count):
        tile[i] = 0


@jit
def decayed(width, pitch, decay, state, result):
    """result = decay * state, with one decay per sequence."""
    for row in range(0, width * pitch, pitch):
        for lane in range(0, pitch, LANES):
            store(result, row + lane, load(decay, lane) * load(state, row + lane))


@jit
def decayed_back(width, pitch, decay, state, grad, grad_decay, like):
    """Turn the gradient of the decayed state into those of the decay and of the state before it."""
    for lane in range(0, pitch, LANES):
        total = spread(like)
        for row in range(0, width * pitch, pitch):
            g = load(grad, row + lane)
            total = total + g * load(state, row + lane)
            store(grad, row + lane, load(decay, lane) * g)
        store(grad_decay, lane, total)


@jit
def add(count, result, other):
    """result += other."""
    for lane in range(0, count, LANES):
        store(result, lane, load(result, lane) + load(other, lane))
