"""Counter-based random streams: the numbers of a batch are a function of its keys and of nothing else."""

import hashlib
import json
from functools import cache

import torch
from torch import Generator

# torch.Generator is an MT19937; its CPU state is one header of three 64-bit words, 624 state words of 32 bits kept in 64 each, and a tail
# for Gaussian pairs.
_HEADER, _WORDS = 3, 624


def generator(*keys: str | int) -> Generator:
    """A CPU generator for a tuple of strings and integers, such as ("s3", "train", seed, index).

    All 624 words of its state come from SHAKE-256 of the keys. `manual_seed` alone would not do: it keeps 32 bits of its argument, so that
    of the 160,000 batches of a hundred runs some three pairs would be equal.
    """
    for key in keys:
        if type(key) not in (str, int):
            raise TypeError(f"generator: a stream is named by strings and integers, got {key!r} of type {type(key).__name__}")
    digest = hashlib.shake_256(json.dumps(keys).encode()).digest(4 * _WORDS)
    words = torch.frombuffer(bytearray(digest), dtype=torch.uint32)
    state = _blank_state().clone()
    state.view(torch.int64)[_HEADER : _HEADER + _WORDS] = words.to(torch.int64)
    fresh = Generator()
    fresh.set_state(state)
    return fresh


@cache
def _blank_state() -> torch.Tensor:
    """The state after seeding, checked to hold its words where this module writes them."""
    state = Generator().manual_seed(1).get_state()
    words = state.view(torch.int64)
    # MT19937's initialisation: word 0 is the seed, word 1 is 1812433253 * (w0 ^ (w0 >> 30)) + 1.
    if len(words) < _HEADER + _WORDS or words[_HEADER : _HEADER + 2].tolist() != [1, 1812433254]:
        raise RuntimeError(f"torch {torch.__version__} lays out its generator state in a way this version does not know")
    return state
