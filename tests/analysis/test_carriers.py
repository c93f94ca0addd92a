"""A flat model that only moves its state about becomes a finite machine of the fewest blocks that are right."""

import pytest
import torch

from mingru.analysis import account, carriers
from mingru.mixers.hardened import Hardened
from mingru.mixers.selection import Selection
from mingru.stack import Stack
from tests.analysis.machines import flat_moving
from tests.analysis.models import trained_s3


def test_the_blocks_that_are_needed_become_a_machine_that_is_right_for_ever():
    found = carriers.harden_moves(flat_moving(), 16)
    assert (found.carriers, found.machine.states) == ((0, 1), 6)
    assert (found.machine.answers.pairs, found.machine.answers.wrong) == (36, 0)
    words = torch.randint(6, (16, 700))
    assert torch.equal(found.stack(words)[0].argmax(-1), words.cumsum(1) % 6)
    certificate = account.layered_certificate(found)
    assert certificate["carriers"] == (0, 1)
    assert certificate["safe_tokens"] == {"float32": None, "float64": None}


def test_the_other_blocks_stay_at_their_mean():
    stack = carriers.harden_moves(flat_moving(), 16).stack
    words = torch.randint(6, (4, 50))
    states = stack.blocks[0].mixer(stack.blocks[0].norm(stack.embed(words)))[0].unflatten(-1, (10, 6))
    assert torch.equal(states[:, :, 2:], states[:1, :1, 2:].expand_as(states[:, :, 2:]))
    # All entries of the last blocks meet, and are at each place one time in six.
    torch.testing.assert_close(states[0, 0, 3:], torch.full((7, 6), 0.1), atol=0.01, rtol=0)


def test_a_block_of_equal_entries_is_no_carrier():
    """As the row form leaves a block in which all have met; the column form leaves zeros."""
    layer = Hardened(9, 1, 3)
    layer.start.copy_(torch.tensor([[5, 5, 5], [5, 2, 5], [5, 0, 0]]))
    assert list(carriers.machines_apart(layer)) == [1]


@pytest.mark.parametrize("second", [lambda token: 0, lambda token: token // 2])
def test_what_does_not_track_a_group_is_none(second):
    assert carriers.harden_moves(flat_moving(second), 16) is None


def test_a_layer_that_computes_is_none():
    assert carriers.harden_moves(trained_s3(), 16) is None


# Its machine has six states, and its two blocks are the fourth set: three blocks keep entries apart.
@pytest.mark.parametrize(("limit", "most"), [("STATES", 5), ("SETS", 3)])
def test_a_machine_beyond_a_limit_is_none(monkeypatch, limit, most):
    monkeypatch.setattr(carriers, limit, most)
    assert carriers.harden_moves(flat_moving(), 16) is None
    monkeypatch.setattr(carriers, limit, most + 1)
    assert carriers.harden_moves(flat_moving(), 16) is not None


def test_an_untrained_selection_is_none():
    torch.manual_seed(0)
    assert carriers.harden_moves(Stack([lambda d_model: Selection(d_model, block_size=4)], 16, 6, n_tokens=6), 16) is None
