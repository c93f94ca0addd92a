"""Margins: what they measure, on mixers whose transitions are set by hand, and that a validation keeps them."""

import math

import pytest
import torch

import train
from mingru.margins import margins
from mingru.mixers.rotation import Rotation
from mingru.mixers.selection import Selection
from mingru.mixers.signed import Signed
from mingru.stack import Stack
from tests.composed import tiny


@torch.no_grad()
def with_bias(mixer, head, values):
    """The mixer with one head that says the same for every token, whatever its input."""
    rows = mixer.projection.rows(head)
    mixer.projection.weight[rows] = 0
    mixer.projection.bias[rows] = torch.as_tensor(values, dtype=mixer.projection.bias.dtype)
    return mixer


def test_the_margin_of_a_sign_is_what_its_best_channel_loses():
    mixer = with_bias(Signed(3), "decay", [0.5, -3.0, 0.0])
    assert mixer.margin(torch.randn(2, 5, 3)).item() == pytest.approx(1 - math.tanh(3.0), abs=1e-6)


def test_the_margin_of_a_rotation_is_its_largest_distance_from_the_grid():
    mixer = with_bias(Rotation(4, snap=[4, 6]), "angle", [math.pi / 2 + 0.1, -math.pi / 3 - 0.25])
    assert mixer.margin(torch.randn(2, 5, 4)).item() == pytest.approx(0.25, abs=1e-6)
    assert Rotation(4, snap=None).margin(torch.randn(2, 5, 4)) is None


LOGITS = [[2.0, 1.5, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.25]]


@pytest.mark.parametrize("form", ["column", "row"])
def test_the_margin_of_a_selection_is_its_smallest_gap(form):
    mixer = with_bias(Selection(3, block_size=3, form=form), "choice", torch.tensor(LOGITS).flatten())
    assert mixer.margin(torch.randn(2, 5, 3)).item() == pytest.approx(0.25, abs=1e-6)


def test_an_entry_that_is_empty_chooses_nothing():
    """Entry 2 stays where it is while it holds something; without that its small gap does not count."""
    mixer = with_bias(Selection(3, block_size=3), "choice", torch.tensor(LOGITS).flatten())
    with torch.no_grad():
        mixer.h0[0, 2] = 0.0
    assert mixer.margin(torch.randn(2, 1, 3)).item() == pytest.approx(0.5, abs=1e-6)


def test_a_stack_names_the_margins_of_its_layers():
    layers = [lambda d_model: Signed(d_model, name="signed"), lambda d_model: Selection(d_model, name="selection")]
    stack = Stack(layers, d_model=16, n_outputs=6, n_tokens=6)
    found = margins(stack, torch.randint(6, (4, 7)), None)
    assert set(found) == {"margin_0_signed", "margin_1_selection"}
    assert all(math.isfinite(margin) and margin >= 0 for margin in found.values())
    assert not any(block.mixer._forward_pre_hooks for block in stack.blocks)


def test_every_validation_keeps_the_margins(tmp_path):
    record = train.run(tiny(tmp_path, "mixer=selection"))
    assert all(entry["margin_0_signed"] >= 0 and entry["margin_1_selection"] >= 0 for entry in record["validation"])
    record = train.run(tiny(tmp_path, "mixer=givens", "extractor=none"))
    assert all(set(entry) == {"step", "accuracy", "loss"} for entry in record["validation"])
