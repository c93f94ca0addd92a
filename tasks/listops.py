"""ListOps: nested operations on lists of digits."""

import functools

import numpy as np
import torch
from torch import Generator, Tensor

from tasks.base import Batch, accuracy, check_request, classes, scored_mean, tokens
from tasks.compiled import compiled
from tasks.stream import generator as stream

# Tokens after the digits 0..9: an operation with its opening bracket, and the closing bracket.
MIN, MAX, MEDIAN, SUM, CLOSE = range(10, 15)
NAMES = [*map(str, range(10)), "[MIN", "[MAX", "[MED", "[SM", "]"]
# Expressions that the chance level is estimated from: a standard error of at most .006.
COUNTED = 4096


class ListOps:
    """An operation on digits and operations, of exactly so many tokens; the target, at its end only, is its value.

    Tokens are the digits 0..9, then [MIN, [MAX, [MED (the median, rounded down), [SM (the sum modulo 10) and the closing bracket. An
    operation has 2 to `max_arguments` arguments (one where there is room for no more); what is left of its tokens goes to a random number
    of them. The value of a single token is its digit.

    [MAX 4 [SM 7 6 ] 1 ]   x 11 4 13 7 6 14 1 14   y 4
    [MED 3 8 ]             x 12 3 8 14             y 5

    Source: Nangia and Bowman 2018, arXiv:1804.06028, with exact lengths in place of a bounded depth.
    """

    head = "last"

    def __init__(self, name: str, max_arguments: int = 10, bar: float = 0.99) -> None:
        if max_arguments < 3:
            raise ValueError(f"{name}: max_arguments is 3 or more, got {max_arguments}")
        self.name, self.max_arguments = name, max_arguments
        self.inputs, self.targets, self.metric = tokens(len(NAMES)), classes(10), accuracy(bar)

    def check_length(self, length: int) -> None:
        if length < 1 or length == 2:
            raise ValueError(f"{self.name}: length {length} is that of no expression; nearest valid: {'1 and 3' if length == 2 else 1}")

    def sample(self, generator: Generator, batch: int, length: int) -> Batch:
        check_request(self, batch, length)
        numbers = torch.randint(2**40, (batch, 2 * length), generator=generator)
        words, values = numbers[:, :length] % 10, torch.empty(batch, dtype=torch.int64)
        if length > 1:
            _write(numbers.numpy(), self.max_arguments, words.numpy())
        _evaluate(words.numpy(), values.numpy())
        return Batch(words, values)

    def chance(self, length: int) -> float:
        return scored_mean(self.position_chance(length))

    constant = chance

    def position_chance(self, length: int) -> Tensor:
        """Estimated from 4,096 expressions."""
        self.check_length(length)
        return torch.tensor([_commonest(self.name, self.max_arguments, length)], dtype=torch.float64)

    def oracle(self, batch: Batch) -> Tensor:
        return torch.tensor([_value(word) for word in batch.inputs.tolist()])


@functools.cache
def _commonest(name: str, max_arguments: int, length: int) -> float:
    """The share of the commonest value."""
    values = ListOps(name, max_arguments).sample(stream(name, "chance", length), COUNTED, length).targets
    return int(values.bincount().max()) / COUNTED


def _value(word: list[int]) -> int:
    """Read from the left, with a list of arguments for every open bracket."""
    open_lists: list[list[int]] = [[]]
    for token in word:
        if token < 10:
            open_lists[-1].append(token)
        elif token < CLOSE:
            open_lists.append([token])
        else:
            operation, *arguments = open_lists.pop()
            arguments.sort()
            middle = arguments[(len(arguments) - 1) // 2] + arguments[len(arguments) // 2]
            value = {MIN: arguments[0], MAX: arguments[-1], MEDIAN: middle // 2, SUM: sum(arguments) % 10}[operation]
            open_lists[-1].append(value)
    return open_lists[0][0]


@compiled
def _write(numbers, max_arguments, words):  # type: ignore[no-untyped-def]
    """Write expressions. An operation is its first place and its length; those inside it come after it in the list."""
    length = words.shape[1]
    start, size = np.empty(length, np.int64), np.empty(length, np.int64)
    for b in range(len(words)):
        word, operations, drawn, last = words[b], 1, 0, -1
        start[0], size[0] = 0, length
        while last + 1 < operations:
            last += 1
            place, room = start[last], size[last] - 2
            number = numbers[b, drawn]
            word[place], word[place + room + 1] = 10 + number % 4, 14
            most = min(max_arguments, room)
            arguments = 2 + number // 4 % (most - 1) if most > 1 else 1
            if room - arguments == 1:
                # One token more than digits need would be too few for an operation.
                arguments += 1 if arguments < most else -1
            spare = room - arguments
            nested = 1 + number // 2**20 % min(arguments, spare // 2) if spare else 0
            spare -= 2 * nested
            drawn += 1
            for left in range(arguments, 0, -1):
                place += 1
                # Any `nested` of the arguments are operations; the last of them takes all that is left.
                if numbers[b, drawn] % left < nested:
                    extra = spare if nested == 1 else numbers[b, drawn] // 64 % (spare + 1)
                    start[operations], size[operations] = place, 3 + extra
                    place, spare, nested, operations = place + 2 + extra, spare - extra, nested - 1, operations + 1
                else:
                    word[place] = numbers[b, drawn] // 64 % 10
                drawn += 1


@compiled
def _evaluate(words, values):  # type: ignore[no-untyped-def]
    """Values of expressions, from how often each digit is an argument of every open operation."""
    counts, operations = np.zeros((words.shape[1] + 1, 10), np.int64), np.empty(words.shape[1] + 1, np.int64)
    for b in range(len(words)):
        depth, value = 0, 0
        for token in words[b]:
            if token < 10:
                value = token
            elif token < 14:
                depth += 1
                counts[depth], operations[depth] = 0, token
                continue
            else:
                seen, operation, total = counts[depth], operations[depth], counts[depth].sum()
                # The middle two of the sorted arguments; or the least, or the greatest, twice.
                low = 0 if operation == 10 else total - 1 if operation == 11 else (total - 1) // 2
                high = total // 2 if operation == 12 else low
                value, before = 0, 0
                for digit in range(10):
                    after = before + seen[digit]
                    taken = (before <= low < after) + (before <= high < after)
                    value += digit * (seen[digit] if operation == 13 else taken)
                    before = after
                value = value % 10 if operation == 13 else value // 2
                depth -= 1
            counts[depth, value] += 1
        values[b] = value
