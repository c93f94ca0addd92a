"""A stack whose layers below the last are held at what they say, on average, of the last few tokens."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from mingru.analysis.maps import Maps, read_maps, with_maps
from mingru.analysis.situations import Situations
from mingru.mixers.hardened import HardenedExtractor, nearest
from mingru.stack import Stack

# Words that are read for each situation, on average, and those that are read at once.
SEEN, AT_ONCE = 256, 256
# The most situations, and how often a word is read until the state comes back.
SITUATIONS, REPEATS = 2**15, 4096


@dataclass(frozen=True)
class Held:
    """The stack, a HardenedExtractor below a Hardened layer that moves its state as the last one learned to, in each situation by one of
    the maps `learned`. `share` is how much of the variance of what the last block got the extractor explains.
    """

    stack: Stack
    situations: Situations
    learned: Maps
    share: float

    @property
    def given(self) -> Tensor:
        """(situations, D): what the last block gets."""
        return self.stack.blocks[0].mixer.outputs

    @property
    def start(self) -> int:
        """The node that it begins in."""
        place, *tokens = self.stack.blocks[0].mixer.start.long().tolist()
        return int(np.ravel_multi_index((place, *tokens), (self.situations.period, *[self.situations.n_tokens] * len(tokens))))


def check_over_tokens(stack: Stack) -> None:
    """ValueError unless this is a stack over tokens, which answers at each."""
    if stack.d_input is not None or stack.time_feature or stack.last_only or stack.blocks[-1].norm is None:
        raise ValueError("holding an extractor wants a stack over tokens, an answer at each of them, and no time gaps")


@torch.no_grad()
def hold(stack: Stack, period: int, length: int) -> Held:
    """Every layer but the last replaced by a mean for each situation, over random words of `length` tokens, of which the first half is not
    looked at. The last block's norms and MLP, the last norm and the head are as they were. Of a flat stack nothing is held: what its layer
    gets is a function of the token.

    ValueError for a last layer whose maps cannot be read, and where two situations look the same to it.
    """
    check_over_tokens(stack)
    situations = Situations(stack.embed.num_embeddings, period)
    if length < 2 * period or len(situations) > SITUATIONS:
        raise ValueError(
            f"holding an extractor wants words of {2 * period} tokens or more and at most {SITUATIONS:,} situations, "
            f"got {length} and {len(situations):,}"
        )
    extractor = HardenedExtractor(stack.embed.embedding_dim, situations.n_tokens, period)
    means, share = averages(copy.deepcopy(stack).double().eval(), extractor, length)
    extractor.inputs.copy_(stack.embed.weight)
    extractor.outputs.copy_(means)
    held, block = copy.deepcopy(stack).eval(), copy.deepcopy(stack.blocks[-1]).double().eval()
    linear, drive = read_maps(block.mixer, block.norm(extractor.outputs.double()))
    learned = Maps(linear, drive, block.mixer.init_state(1).reshape(drive.shape[1:]))
    first = copy.deepcopy(held.blocks[0])
    first.mixer, first.norm, first.mlp_norm, first.mlp = extractor.to(stack.embed.weight), None, None, None
    held.blocks = nn.ModuleList([first, held.blocks[-1]])
    return Held(moved_by(held, learned), situations, learned, share)


@torch.no_grad()
def averages(stack: Stack, extractor: HardenedExtractor, length: int) -> tuple[Tensor, float]:
    """(situations, D), what the last block gets on average in each, and the share of its variance that this explains."""
    count, half = len(extractor.outputs), length - length // 2
    generator = torch.Generator().manual_seed(0)
    sums, counts, squares = torch.zeros(count, extractor.d_model).double(), torch.zeros(count, dtype=torch.int64), 0.0
    for _ in range(-(-SEEN * count // (AT_ONCE * half))):
        words = torch.randint(stack.embed.num_embeddings, (AT_ONCE, length), generator=generator)
        found = extractor.situations(words, extractor.init_state(AT_ONCE))[0][:, -half:].flatten()
        given = below(stack, words)[:, -half:].flatten(0, 1)
        sums.index_add_(0, found, given)
        squares += float(given.square().sum())
        counts += torch.bincount(found, minlength=count)
    if not counts.all():
        raise ValueError(f"holding an extractor: {int((counts == 0).sum())} of {count} situations were never seen")
    means, about = sums / counts.unsqueeze(1), float(sums.sum(0).square().sum() / counts.sum())
    return means, (float((counts.unsqueeze(1) * means.square()).sum()) - about) / (squares - about)


def below(stack: Stack, tokens: Tensor) -> Tensor:
    """(B, T, D): what the last block gets."""
    x = stack.embed(tokens)
    for block in stack.blocks[:-1]:
        x = block(x)[0]
    return x


@torch.no_grad()
def moved_by(held: Stack, maps: Maps) -> Stack:
    """A copy of a held stack whose last layer moves its state by these maps, one for each situation."""
    inputs = held.blocks[-1].norm(held.blocks[0].mixer.outputs)
    others = int((nearest(inputs, inputs.unsqueeze(0))[0] != torch.arange(len(inputs))).sum())
    if others:
        raise ValueError(f"holding an extractor: {others} situations look like others to the last layer")
    return with_maps(held, inputs, maps)


@torch.no_grad()
def begin_midway(held: Held, length: int) -> Held:
    """The same that begins as it is after a word that changes nothing, where all that meets has met.

    A random word of about `length` tokens is read until the state comes back. Read as often as it then takes, from any state that comes
    back, it changes nothing. ValueError where no state comes back.
    """
    begun = copy.deepcopy(held.stack)
    extractor, last = (block.mixer for block in begun.blocks)
    whole = length // extractor.state_size * extractor.state_size
    word = torch.randint(len(extractor.inputs), (1, whole), generator=torch.Generator().manual_seed(0))
    state, seen = None, []
    for times in itertools.count():
        if times == REPEATS:
            raise ValueError(f"holding an extractor: a word that was read {REPEATS} times brought no state back")
        state = held.stack(word, state)[1]
        first = next((place for place, known in enumerate(seen) if torch.equal(known, state[-1])), None)
        seen.append(state[-1])
        if first is not None:
            break
    back = times - first
    last.start.copy_(seen[-(-(first + 1) // back) * back - 1][0])
    extractor.start.copy_(state[0][0])
    return replace(held, stack=begun)
