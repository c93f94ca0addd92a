"""Stacks of two layers whose answers are known by construction: one whose last layer moves its state about, and one that turns it."""

from collections.abc import Callable

import torch
from torch import Tensor

from mingru.mixers.hardened import Hardened, HardenedExtractor
from mingru.mixers.selection import Selection
from mingru.stack import Stack
from tasks.word_problem import WordProblem

# Pairs of tokens spell an element of the cyclic group of order five.
CYCLIC = WordProblem("cyclic", "C5", levels=1, table_seed=0)
ORDER, WIDTH = 5, 60
SITUATIONS = [(phase, first, second) for phase in range(2) for first in range(ORDER) for second in range(ORDER)]


def spelt(first: int, second: int) -> int:
    return int(CYCLIC.latin_square[first, second])


def shifting(phase: int, first: int, second: int) -> int:
    """What CYCLIC wants: at the second token of a pair, a shift by the element that the two spell."""
    return spelt(first, second) if phase == 1 else 0


def two_layers(last: Callable[..., torch.nn.Module]) -> Stack:
    """A hardened extractor with random outputs below `last`, an MLP that adds nothing, and a head of zeros."""
    torch.manual_seed(0)
    stack = Stack([lambda d_model: HardenedExtractor(d_model, ORDER, 2), last], WIDTH, ORDER, n_tokens=ORDER).eval()
    extractor = stack.blocks[0].mixer
    extractor.inputs.copy_(stack.embed.weight.detach())
    extractor.outputs.copy_(torch.randn(len(SITUATIONS), WIDTH))
    silence(stack)
    return stack


@torch.no_grad()
def silence(stack: Stack) -> None:
    """An MLP of the last block that adds nothing, and a head of zeros."""
    block = stack.blocks[-1]
    for weight in (block.mlp[2].weight, block.mlp[2].bias, stack.head.weight, stack.head.bias):
        weight.zero_()


@torch.no_grad()
def choose(selection: Selection, inputs: Tensor, wanted: Tensor) -> None:
    """Make these the logits of inputs (n, D): `wanted` (n, blocks, entries, places) is 1 where an entry goes, and 0 elsewhere."""
    selection.projection.weight.copy_(torch.linalg.lstsq(inputs.double(), wanted.flatten(1).double()).solution.T)
    selection.projection.bias.zero_()
    torch.testing.assert_close(selection.projection(inputs)[0], wanted.flatten(1), atol=1e-3, rtol=0)


@torch.no_grad()
def moving(shift: Callable[[int, int, int], int] = shifting, first_answer: int = 0, merges: bool = False) -> Stack:
    """Its first block of five is shifted as told, and in the others all entries meet.

    The answer is the place of the largest entry, at first `first_answer`. With `merges` two of the first block's entries meet at the end of
    a pair of zeros.
    """
    stack = two_layers(lambda d_model: Selection(d_model, block_size=ORDER))
    block, places = stack.blocks[1], torch.arange(ORDER)
    # [situation, block, entry, where it goes]
    wanted = torch.zeros(len(SITUATIONS), WIDTH // ORDER, ORDER, ORDER)
    for choices, situation in zip(wanted, SITUATIONS, strict=True):
        choices[0, places, (places + shift(*situation)) % ORDER] = 1
        # The other blocks forget: all entries go where the last token says.
        choices[1:, :, situation[2]] = 1
        if merges and situation == (1, 0, 0):
            choices[0, 0] = choices[0, 1]
    choose(block.mixer, block.norm(stack.blocks[0].mixer.outputs), wanted)
    block.mixer.h0.copy_(torch.tensor([20.0, -4, -5, -6, -7]).roll(first_answer))
    stack.head.weight[places, places] = 1
    return stack


@torch.no_grad()
def flat_moving(second: Callable[[int], int] = lambda token: token) -> Stack:
    """A flat model of the cyclic group of order six: its first block counts modulo 3, and its second, by `second`, modulo 2.

    The third counts modulo 6, and nothing reads it. In the others all entries meet, and tell of the last token.
    """
    order, place = 6, torch.arange(6)
    torch.manual_seed(0)
    stack = Stack([lambda d_model: Selection(d_model, block_size=order)], WIDTH, order, n_tokens=order).eval()
    block = stack.blocks[0]
    # [token, block, entry, where it goes]
    wanted = torch.zeros(order, WIDTH // order, order, order)
    for token, choices in enumerate(wanted):
        choices[0, place, (place + token) % 3] = 1
        choices[1, place, (place + second(token)) % 2] = 1
        choices[2, place, (place + token) % 6] = 1
        choices[3:, :, token] = 1
    choose(block.mixer, block.norm(stack.embed.weight), wanted)
    block.mixer.h0.fill_(0.1)
    block.mixer.h0[0] = torch.tensor([20.0, -4, -5, 0, 0, 0])
    block.mixer.h0[1] = torch.tensor([20.0, -4, 0, 0, 0, 0])
    block.mixer.h0[2] = torch.arange(1.0, 7.0)
    silence(stack)
    stack.head.weight[place, place % 3], stack.head.weight[place, order + place % 2] = 1, 1
    return stack


@torch.no_grad()
def turning(noise: float = 0.0) -> Stack:
    """Its first block of two is turned by the angle of the product, in a gauge: the first token of a pair turns it by something of its own,
    which the second takes back. All maps are off by `noise`, and nothing is in the other blocks.

    Beside a state of length 20 what the extractor adds is little: the answer is the corner of a pentagon that is next to the state.
    """
    stack = two_layers(lambda d_model: Hardened(d_model, len(SITUATIONS), 2))
    layer, outputs = stack.blocks[1].mixer, stack.blocks[0].mixer.outputs
    layer.inputs.copy_(stack.blocks[1].norm(outputs))
    gauge = 0.3 * torch.randn(ORDER, generator=torch.Generator().manual_seed(1)).double()
    step = 2 * torch.pi / ORDER
    for situation, (phase, first, second) in enumerate(SITUATIONS):
        # A node is in the middle of a pair, turned by the gauge of its first token, or between two, by half that of the last.
        angle = step * spelt(first, second) + gauge[second] / 2 - gauge[first] if phase == 1 else gauge[second] - gauge[first] / 2
        layer.linear[situation, 0] = rotation(torch.as_tensor(angle))
    off = noise * torch.randn(len(SITUATIONS), generator=torch.Generator().manual_seed(2)).double()
    layer.linear[:, 0] = torch.stack([rotation(angle) for angle in off]) @ layer.linear[:, 0]
    # As after a token 0.
    layer.start[0] = 20 * torch.stack([torch.cos(gauge[0] / 2), torch.sin(gauge[0] / 2)])
    corners = step * torch.arange(ORDER)
    stack.head.weight[:, 0], stack.head.weight[:, 1] = torch.cos(corners), torch.sin(corners)
    return stack


def rotation(angle: Tensor) -> Tensor:
    return torch.stack([torch.stack([torch.cos(angle), -torch.sin(angle)]), torch.stack([torch.sin(angle), torch.cos(angle)])])
