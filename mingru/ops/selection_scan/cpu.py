"""One pass over t for every stretch of neighbouring blocks; README.md derives it.

The backward pass finds the choices again, which is cheaper than to keep them. It takes the exponentials of a softmax from torch, which has
vector code for them (and none for a softmax over so few), and turns them into the gradient in place.
"""

import torch
from torch import Tensor

from mingru.ops.cpu.kernel import Kernel, after, jit, place, row, share
from mingru.ops.cpu.lanes import load, spread, store, total, zeros
from mingru.ops.layout import packed


@jit
def _chosen(logits, width):
    """The place of the largest of a row, the first of equals."""
    best, at = logits[0], 0
    for i in range(1, width):
        if logits[i] > best:
            best, at = logits[i], i
    return at


@jit
def _move(by_source, width, zero, scale, logits, previous, drive, state):
    """One block of one token."""
    everything = spread(scale, zero) * load(previous, 0, zero)
    for i in range(width):
        everything = everything + load(logits, i * width, zero)
    # Zero, or NaN where a logit or an entry is not finite, be it chosen or not.
    nothing = total(everything) * 0
    for i in range(width):
        state[i] = drive[i] + nothing
    for i in range(width):
        at = _chosen(after(logits, i * width), width)
        source, target = (i, at) if by_source else (at, i)
        state[target] += scale * previous[source]


def scan(first, last, sizes, like, scratch, pattern, logits, drive, state, decay, states):
    steps, blocks, stretch, by_source = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        at = start * width
        previous = row(state, b, 0, at, like)
        for t in range(steps):
            rows, kept = row(logits, b, t, at * width, like), row(decay, b, t, start * decay[3], like)
            x, h = row(drive, b, t, at, like), row(states, b, t, at, like)
            for n in range(min(stretch, blocks - start)):
                here = n * width
                _move(
                    by_source == 1, width, zero, kept[n * decay[3]], after(rows, here * width), after(previous, here),
                    after(x, here), after(h, here),
                )  # fmt: skip
            previous = h


def _below(first, last, sizes, like, scratch, pattern, logits, below):
    """How far each of a row's logits is below its largest."""
    steps, blocks, stretch, _ = sizes
    width, zero, stretches = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        at, size = start * width * width, min(stretch, blocks - start) * width * width
        for t in range(steps):
            rows, target = row(logits, b, t, at, like), row(below, b, t, at, like)
            for i in range(0, size, width):
                best = rows[i + _chosen(after(rows, i), width)]
                store(target, i, load(rows, i, zero) - spread(best, zero))


@jit
def _move_back(by_source, width, zero, one, scale, logits, previous, grad, carried, soft):
    """One block of one token: `soft`, the exponentials of a softmax, becomes the gradient of the logits.

    `carried` becomes what the state before it receives.

    Return the gradient of its decay.
    """
    state, received = load(previous, 0, zero), load(grad, 0, zero)
    kept = spread(scale, zero) * state
    store(carried, 0, zero)
    for i in range(width):
        at = _chosen(after(logits, i * width), width)
        source, target = (i, at) if by_source else (at, i)
        carried[source] += grad[target]
        of_choice = spread(scale * previous[i], zero) * received if by_source else spread(grad[i], zero) * kept
        weight = load(soft, i * width, zero)
        part = one / total(weight)
        mean = spread(part * total(weight * of_choice), zero)
        store(soft, i * width, spread(part, zero) * weight * (of_choice - mean))
    pulled = load(carried, 0, zero)
    store(carried, 0, spread(scale, zero) * pulled)
    return total(pulled * state)


def _backward(
    first, last, sizes, like, scratch, pattern, grad, logits, state, decay, states, soft, grad_drive, grad_state, grad_decay,
):  # fmt: skip
    steps, blocks, stretch, by_source = sizes
    width, zero, stretches, one = len(pattern), zeros(like, pattern), (blocks + stretch - 1) // stretch, type(like)(1)
    for unit in range(first, last):
        b, start = unit // stretches, unit % stretches * stretch
        size, at = min(stretch, blocks - start), start * width
        carried = row(grad_state, b, 0, at, like)
        for i in range(size * width):
            carried[i] = 0
        for t in range(steps - 1, -1, -1):
            g, x = row(grad, b, t, at, like), row(grad_drive, b, t, at, like)
            for i in range(size * width):
                x[i] = g[i] + carried[i]
            previous = row(states, b, t - 1, at, like) if t > 0 else row(state, b, 0, at, like)
            rows, weights = row(logits, b, t, at * width, like), row(soft, b, t, at * width, like)
            kept, grad_kept = row(decay, b, t, start * decay[3], like), row(grad_decay, b, t, start, like)
            for n in range(size):
                here, there = n * width, n * width * width
                grad_kept[n] = _move_back(
                    by_source == 1, width, zero, one, kept[n * decay[3]], after(rows, there), after(previous, here), after(x, here),
                    after(carried, here), after(weights, there),
                )  # fmt: skip


_forward_kernel = Kernel(scan)
_backward_kernel = Kernel(_backward)
_below_kernel = Kernel(_below)


def _shares(logits: Tensor, by_source: bool) -> tuple[tuple[int, int], tuple[int, ...], tuple[int, ...]]:
    """Units and numbers touched, sizes, and a pattern of as many numbers as a block has."""
    batch, steps, blocks, width, _ = logits.shape
    stretch, units = share(batch, blocks)
    return (units, logits.numel()), (steps, blocks, stretch, int(by_source)), (0,) * width


def forward(logits: Tensor, drive: Tensor, state: Tensor, decay: Tensor, by_source: bool) -> Tensor:
    logits, drive, state = packed(logits, 2), packed(drive, 2), packed(state, 1)
    states = torch.empty(drive.shape, dtype=drive.dtype)
    work, sizes, pattern = _shares(logits, by_source)
    places = place(logits, 2), place(drive, 2), place(state, 1), place(decay, 3), place(states, 2)
    _forward_kernel(work, drive.dtype, sizes, 0, pattern, *places)
    return states


def backward(
    grad: Tensor, logits: Tensor, state: Tensor, decay: Tensor, states: Tensor, by_source: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    grad, logits, state, states = packed(grad, 2), packed(logits, 2), packed(state, 1), packed(states, 2)
    results = [torch.empty(x.shape, dtype=grad.dtype) for x in (logits, grad, state, decay)]
    work, sizes, pattern = _shares(logits, by_source)
    _below_kernel(work, grad.dtype, sizes, 0, pattern, place(logits, 2), place(results[0], 2))
    results[0].exp_()
    inputs = place(grad, 2), place(logits, 2), place(state, 1), place(decay, 3), place(states, 2)
    outputs = [place(result, leading) for result, leading in zip(results, (2, 2, 1, 3), strict=True)]
    _backward_kernel(work, grad.dtype, sizes, 0, pattern, *inputs, *outputs)
    return tuple(results)
