"""Stacks of two layers that are machines by construction: what they answer is known, and so is what would be wrong with them."""

from collections.abc import Callable

import torch

from mingru.mixers.hardened import HardenedExtractor
from mingru.mixers.selection import Selection
from mingru.stack import Stack
from tasks.word_problem import WordProblem

# Pairs of tokens spell an element of the cyclic group of order five.
CYCLIC = WordProblem("cyclic", "C5", levels=1, table_seed=0)
ORDER, WIDTH = 5, 60


def spelt(first: int, second: int) -> int:
    return int(CYCLIC.latin_square[first, second])


def pairs_shift(phase: int, first: int, second: int) -> int:
    """What CYCLIC wants: at the second token of a pair, a shift by the element that the two spell."""
    return spelt(first, second) if phase == 1 else 0


def machine(shift: Callable[[int, int, int], int] = pairs_shift, first_answer: int = 0, merges: bool = False) -> Stack:
    """A hardened extractor below a selection, whose first block of five is shifted as told, while in the others all entries meet.

    The answer is the place of the largest entry, at first `first_answer`. With `merges` two of the first block's entries meet at the end of
    a pair of zeros.
    """
    torch.manual_seed(0)
    layers = [lambda d_model: HardenedExtractor(d_model, ORDER, 2), lambda d_model: Selection(d_model, block_size=ORDER)]
    stack = Stack(layers, WIDTH, ORDER, n_tokens=ORDER).eval()
    extractor, block = stack.blocks[0].mixer, stack.blocks[1]
    extractor.inputs.copy_(stack.embed.weight.detach())
    extractor.outputs.copy_(torch.randn(2 * ORDER**2, WIDTH))
    # [situation, block, entry, where it goes]
    wanted = torch.zeros(2 * ORDER**2, WIDTH // ORDER, ORDER, ORDER)
    places = torch.arange(ORDER)
    for situation, choices in enumerate(wanted):
        phase, first, second = situation // ORDER**2, situation // ORDER % ORDER, situation % ORDER
        choices[0, places, (places + shift(phase, first, second)) % ORDER] = 1
        # The other blocks forget: all entries go where the last token says.
        choices[1:, :, second] = 1
        if merges and (phase, first, second) == (1, 0, 0):
            choices[0, 0] = choices[0, 1]
    with torch.no_grad():
        inputs = block.norm(extractor.outputs)
        block.mixer.projection.weight.copy_(torch.linalg.lstsq(inputs.double(), wanted.flatten(1).double()).solution.T)
        block.mixer.projection.bias.zero_()
        torch.testing.assert_close(block.mixer.projection(inputs)[0], wanted.flatten(1), atol=1e-3, rtol=0)
        block.mixer.h0.copy_(torch.tensor([20.0, -4, -5, -6, -7]).roll(first_answer))
        for weight in (block.mlp[2].weight, block.mlp[2].bias, stack.head.weight, stack.head.bias):
            weight.zero_()
        stack.head.weight[places, places] = 1
    return stack
