"""What a selection's blocks are told to be, for blocks made by hand."""

import pytest
import torch

from mingru.analysis.choices import WARM_UP, blocks
from mingru.mixers.givens import Givens
from mingru.mixers.selection import Selection
from mingru.stack import Stack
from mingru.sweep import records
from scripts import choices, publish
from tests.analysis.test_harden_script import made


def by_hand():
    """One layer of five blocks of two: all tokens swap, none moves anything, all is merged, one token swaps, the token says where to."""
    stack = Stack([lambda d_model: Selection(d_model, block_size=2)], d_model=10, n_outputs=2, n_tokens=2, mlp_expansion=0)
    mixer, rows = stack.blocks[0].mixer, 4
    stack.blocks[0].norm = torch.nn.Identity()
    with torch.no_grad():
        stack.embed.weight.zero_()
        stack.embed.weight[0, 0], stack.embed.weight[1, 0] = 1.0, -1.0
        mixer.h0.copy_(torch.tensor([[1.0, 2.0]]).repeat(5, 1))
        mixer.projection.weight.zero_()
        # (block, source, destination)
        bias = torch.tensor([[[0, 1], [1, 0]], [[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]])
        mixer.projection.bias.copy_(bias.flatten())
        by_token = torch.tensor([[[0, 1], [1, 0]], [[0, 1], [0, 1]]])
        mixer.projection.weight[3 * rows :, 0] = (2.0 * by_token - 1).flatten()
    return stack


def test_a_swap_counts_and_a_memory_does_not():
    tokens = torch.randint(2, (8, WARM_UP + 100), generator=torch.Generator().manual_seed(1))
    (found,) = blocks(by_hand(), tokens, 2).values()
    swap, still, merged, sometimes, memory = found
    assert (swap.alive, swap.states, swap.common, swap.counts) == (2, [1, 1], 0, True)
    assert (still.alive, still.states, still.common, still.counts) == (2, [1, 1], 1, False)
    assert (merged.alive, merged.states, merged.counts) == (1, [1, 1], False)
    assert (sometimes.alive, sometimes.states, sometimes.counts) == (2, [2, 2], False)
    assert (memory.alive, memory.states, memory.counts) == (1, [2, 2], False)


@pytest.mark.parametrize("form", ["column", "row"])
def test_entries_that_met_count_once_in_either_form(form):
    """Both entries go to the first place in the column form; both places take the first entry in the row form."""
    stack = Stack([lambda d_model: Selection(d_model, block_size=2, form=form)], d_model=2, n_outputs=2, n_tokens=2)
    mixer = stack.blocks[0].mixer
    with torch.no_grad():
        mixer.h0.copy_(torch.tensor([[1.0, 2.0]]))
        mixer.projection.weight.zero_()
        mixer.projection.bias.copy_(torch.tensor([1.0, 0.0, 1.0, 0.0]))
    (found,) = blocks(stack, torch.zeros(1, WARM_UP + 2, dtype=torch.int64), 1).values()
    assert found[0].alive == 1


def test_every_third_position_is_not_every_second():
    (found,) = blocks(by_hand(), torch.zeros(2, WARM_UP + 30, dtype=torch.int64), 3).values()
    assert found[0].states == [2, 2, 2]
    assert not found[0].counts


def test_sequences_must_be_longer_than_what_is_left_out():
    with pytest.raises(ValueError, match=f"sequences of {WARM_UP + 2} tokens or more are wanted, got 5"):
        blocks(by_hand(), torch.zeros(1, 5, dtype=torch.int64), 2)


def test_layers_without_choices_or_with_injection_are_left_out():
    layers = [lambda d_model: Givens(d_model), lambda d_model: Selection(d_model, injection=True), lambda d_model: Selection(d_model)]
    stack = Stack(layers, d_model=16, n_outputs=2, n_tokens=2)
    assert list(blocks(stack, torch.zeros(1, 200, dtype=torch.int64), 1)) == [2]
    assert not any(block.mixer._forward_hooks for block in stack.blocks)


def test_the_script_keeps_what_it_finds_and_it_is_published(tmp_path, capsys):
    directory, _ = made(tmp_path / "outputs", "mixer=selection")
    assert choices.main([str(directory)]) == 0
    assert "1 selection" in capsys.readouterr().out
    (kept,) = records.read_json(directory / "choices.json")["layers"]
    assert (kept["layer"], len(kept["blocks"])) == (1, 2)
    file = tmp_path / "study.jsonl"
    assert publish.main([str(file), "--outputs", str(tmp_path / "outputs")]) == 0
    assert '"choices":{"layers":[{"layer":1' in file.read_text()


def test_a_run_without_choices_is_one_line(tmp_path, capsys):
    directory, _ = made(tmp_path, "mixer=givens")
    assert choices.main([str(directory)]) == 1
    assert "has no selection without injection" in capsys.readouterr().err


def test_blocks_are_counted_by_their_entries():
    assert choices.alive([1, 3, 1, 2, 1]) == "1 × 3, 1 × 2, 3 × 1"
