"""A stack whose layers below the last are held at what they say, on average, of the last few tokens."""

from __future__ import annotations

import copy
import itertools

import torch
from torch import Tensor, nn

from mingru.mixers.hardened import HardenedExtractor
from mingru.stack import Stack

# Words that are read for each row of the extractor's outputs, on average, and those that are read at once.
SEEN, AT_ONCE = 256, 256
# The largest table of outputs, and the words after which the state must have come back.
ROWS, REPEATS = 2**17, 4096


def check_layered(stack: Stack) -> None:
    """ValueError unless this is a stack of two layers or more over tokens, which answers at each."""
    last = stack.blocks[-1]
    if len(stack.blocks) < 2 or stack.d_input is not None or stack.time_feature or stack.last_only or last.norm is None:
        raise ValueError("hardening of hierarchies wants two layers or more over tokens, an answer at each of them, and no time gaps")


@torch.no_grad()
def hold(stack: Stack, period: int, length: int) -> tuple[Stack, float]:
    """A copy whose first layer is a HardenedExtractor in place of all but the last; the last layer, norm and head are as they were.

    Its outputs are means over random words of `length` tokens, of which the first half is not looked at. With them the share of
    the variance of what the last block gets that they explain: 1 where that is a function of the last tokens and of the place.
    """
    check_layered(stack)
    n_tokens = stack.embed.num_embeddings
    if length < 2 * period or period * n_tokens**period > ROWS:
        raise ValueError(f"holding an extractor wants words of {2 * period} tokens or more and at most {ROWS:,} situations")
    layer = HardenedExtractor(stack.embed.embedding_dim, n_tokens, period)
    exact, rows, half = copy.deepcopy(stack).double().eval(), len(layer.outputs), length - length // 2
    generator = torch.Generator().manual_seed(0)
    sums, squares = torch.zeros(rows, layer.d_model, dtype=torch.float64), 0.0
    counts = torch.zeros(rows, dtype=torch.int64)
    for _ in range(-(-SEEN * rows // (AT_ONCE * half))):
        words = torch.randint(n_tokens, (AT_ONCE, length), generator=generator)
        situations = layer.situations(words, layer.init_state(AT_ONCE))[0][:, -half:].flatten()
        given = below(exact, words)[:, -half:].flatten(0, 1)
        sums.index_add_(0, situations, given)
        squares += float(given.square().sum())
        counts += torch.bincount(situations, minlength=rows)
    if not counts.all():
        raise ValueError(f"holding an extractor: {int((counts == 0).sum())} of {rows} situations were never seen")
    means, total = sums / counts.unsqueeze(1), int(counts.sum())
    about = sums.sum(0).square().sum() / total
    share = float(((counts.unsqueeze(1) * means.square()).sum() - about) / (squares - about))
    layer.inputs.copy_(stack.embed.weight)
    layer.outputs.copy_(means)
    return with_extractor(stack, layer), share


def below(stack: Stack, tokens: Tensor) -> Tensor:
    """(B, T, D): what the last block gets."""
    x = stack.embed(tokens)
    for block in stack.blocks[:-1]:
        x = block(x)[0]
    return x


def with_extractor(stack: Stack, layer: HardenedExtractor) -> Stack:
    held = copy.deepcopy(stack).eval()
    held.blocks = nn.ModuleList([copy.deepcopy(stack.blocks[0]), held.blocks[-1]])
    first = held.blocks[0]
    first.mixer, first.norm, first.mlp_norm, first.mlp = layer.to(stack.embed.weight), None, None, None
    return held


@torch.no_grad()
def begin_midway(held: Stack, start: nn.Parameter, length: int) -> None:
    """Let the held stack begin as it is after a word that changes nothing, where all that meets has met: sets both layers' starts.

    A random word of about `length` tokens is read until the state comes back. Read once more as often as it then takes, from any state that
    comes back, it changes nothing. `start` is the last layer's.
    """
    extractor, period = held.blocks[0].mixer, held.blocks[0].mixer.state_size
    word = torch.randint(len(extractor.inputs), (1, length // period * period), generator=torch.Generator().manual_seed(0))
    state, seen = None, []
    for times in itertools.count(1):
        state = held(word, state)[1]
        seen.append(state[-1])
        first = next(place for place, known in enumerate(seen) if torch.equal(known, state[-1]))
        if first < times - 1:
            break
        if times == REPEATS:
            raise ValueError(f"holding an extractor: a word that was read {REPEATS} times brought no state back")
    after, back = first + 1, times - 1 - first
    start.copy_(seen[-(-after // back) * back - 1][0])
    extractor.start.copy_(state[0][0])
