"""A wrong shape, dtype, device or setting is a ValueError that names the mixer, what came and what was wanted."""

import re

import pytest
import torch

from mingru.mixers.baselines.gru import GRU
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.reflection import Reflection
from mingru.mixers.rotation import Rotation
from mingru.mixers.selection import Selection
from mingru.mixers.signed import Signed

WRONG_INPUTS = {
    "no tokens": torch.zeros(2, 0, 16),
    "no sequences": torch.zeros(0, 5, 16),
    "another width": torch.zeros(2, 5, 15),
    "no batch axis": torch.zeros(5, 16),
    "float64 in a float32 model": torch.zeros(2, 5, 16, dtype=torch.float64),
    "bfloat16 without autocast": torch.zeros(2, 5, 16, dtype=torch.bfloat16),
    "integers": torch.zeros(2, 5, 16, dtype=torch.int64),
    "another device": torch.zeros(2, 5, 16, device="meta"),
}


@pytest.mark.parametrize("x", WRONG_INPUTS.values(), ids=WRONG_INPUTS)
def test_a_wrong_input_is_refused(build, stem, x):
    mixer = build(d_model=16)
    x_t = x.select(-2, 0) if x.shape[-2] else x
    for call, inputs in ((mixer, x), (mixer.step, x_t)):
        with pytest.raises(ValueError, match=rf"^{stem}: inputs must .*, got "):
            call(inputs)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state[:1],
        lambda state: state.flatten(1)[:, :-1],
        lambda state: state.unsqueeze(1),
        lambda state: state.bfloat16(),
        lambda state: state.double(),
        lambda state: state.to("meta"),
    ],
    ids=["another batch", "too few elements", "a time axis", "bfloat16", "float64", "another device"],
)
def test_a_wrong_state_is_refused(build, stem, spoil):
    mixer = build(d_model=16)
    state = spoil(mixer.init_state(3).detach())
    for call, x in ((mixer, torch.zeros(3, 5, 16)), (mixer.step, torch.zeros(3, 16))):
        with pytest.raises(ValueError, match=rf"^{stem}: state must .*, got "):
            call(x, state)


def test_a_state_whose_batch_equals_the_length_does_not_broadcast(build, stem):
    mixer = build(d_model=16)
    with pytest.raises(ValueError, match=rf"^{stem}: state must have shape"):
        mixer(torch.zeros(5, 5, 16), mixer.init_state(5)[0])


def test_time_gaps_need_a_decay_channel(build, stem):
    mixer = build(d_model=16)
    with pytest.raises(ValueError, match=rf"^{stem}: got delta_t"):
        mixer(torch.zeros(2, 5, 16), delta_t=torch.ones(2, 5))
    with pytest.raises(ValueError, match=rf"^{stem}: got delta_t"):
        mixer.step(torch.zeros(2, 16), delta_t=torch.ones(2))


def test_an_empty_batch_has_no_initial_state(build, stem):
    with pytest.raises(ValueError, match=rf"^{stem}: init_state needs a batch of at least 1, got 0"):
        build(d_model=16).init_state(0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Log(0), "log: d_model must be at least 1, got 0; the nearest valid choice is 1"),
        (lambda: Signed(-3), "signed: d_model must be at least 1, got -3; the nearest valid choice is 1"),
        (lambda: GRU(0), "gru: d_model must be at least 1, got 0; the nearest valid choice is 1"),
        (lambda: Rotation(7), "rotation: d_model must be even and positive, got 7; the nearest valid choice is 6 or 8"),
        (lambda: Rotation(1), "rotation: d_model must be even and positive, got 1; the nearest valid choice is 2"),
        (lambda: Rotation(0), "rotation: d_model must be even and positive, got 0; the nearest valid choice is 2"),
        (
            lambda: Rotation(8, snap=[]),
            "rotation: snap must hold at least one order, got []; the nearest valid choice is null",
        ),
        (
            lambda: Rotation(8, snap=[2, 0, -4]),
            "rotation: snap must hold orders of at least 1, got [2, 0, -4]; the nearest valid choice is [2, 1, 1]",
        ),
        (
            lambda: Givens(64, block_size=7),
            "givens: block_size must be even and positive, got 7; the nearest valid choice is 6 or 8",
        ),
        (
            lambda: Givens(64, block_size=0),
            "givens: block_size must be even and positive, got 0; the nearest valid choice is 2",
        ),
        (
            lambda: Givens(60, name="mine"),
            "mine: d_model must be a multiple of block_size 8, got 60; the nearest valid choice is 56 or 64",
        ),
        (lambda: Givens(64, rounds=0), "givens: rounds must be at least 1, got 0; the nearest valid choice is 1"),
        (
            lambda: Reflection(64, block_size=7),
            "reflection: d_model must be a multiple of block_size 7, got 64; the nearest valid choice is 63 or 70",
        ),
        (lambda: Reflection(64, block_size=0), "reflection: block_size must be at least 1, got 0; the nearest valid choice is 1"),
        (lambda: Reflection(64, n_householder=0), "reflection: n_householder must be at least 1, got 0; the nearest valid choice is 1"),
        (lambda: Reflection(64, beta="two"), "reflection: beta must be fixed, learned or spare, got 'two'"),
        (
            lambda: Reflection(64, n_householder=3),
            "reflection: an odd number of exact reflections cannot be the identity, got n_householder=3 with beta=fixed; "
            "the nearest valid choice is 2 or 4, or beta=spare",
        ),
        (
            lambda: Selection(60, name="mine"),
            "mine: d_model must be a multiple of block_size 8, got 60; the nearest valid choice is 56 or 64",
        ),
        (lambda: Selection(64, form="matrix"), "selection: form must be column, row or bijective, got 'matrix'"),
        (
            lambda: Selection(64, factors=4),
            "selection: factors=4 does nothing with form=column; it counts the swaps of form=bijective",
        ),
        (
            lambda: Selection(64, form="row", factors=2, name="selection_row"),
            "selection_row: factors=2 does nothing with form=row; it counts the swaps of form=bijective",
        ),
        (
            lambda: Selection(64, form="bijective", factors=0),
            "selection: factors must be at least 1, got 0; the nearest valid choice is 1",
        ),
        (
            lambda: Selection(64, block_size=1, form="bijective"),
            "selection: form=bijective swaps two entries, got block_size=1; the nearest valid choice is 2",
        ),
        (lambda: Delta(64, n_heads=0), "delta: n_heads must be at least 1, got 0; the nearest valid choice is 1"),
        (
            lambda: Delta(64, n_householder=-1),
            "delta: n_householder must be at least 1, got -1; the nearest valid choice is 1",
        ),
        (lambda: Delta(64, d_k=0), "delta: d_k must be at least 1, got 0; the nearest valid choice is 1"),
        (lambda: Delta(64, d_v=0), "delta: d_v must be at least 1, got 0; the nearest valid choice is 1"),
        (
            lambda: Delta(64, n_heads=7),
            "delta: without d_k, n_heads must divide d_model 64, got 7; the nearest valid choice is 8",
        ),
    ],
)
def test_an_impossible_setting_names_the_nearest_possible_one(build, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build()
