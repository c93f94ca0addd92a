"""A hardened layer is a mixer like any other, though no YAML names it."""

import pytest
import torch

from mingru.mixers.hardened import Hardened, HardenedExtractor, nearest


@pytest.fixture
def mixer():
    layer = Hardened(8, n_tokens=5, block_size=4).double()
    layer.inputs.copy_(torch.randn(5, 8))
    layer.linear.copy_(torch.linalg.qr(torch.randn(5, 2, 4, 4, dtype=torch.float64))[0])
    layer.drive.copy_(torch.randn(5, 2, 4))
    layer.start.copy_(torch.randn(2, 4))
    return layer


def test_every_split_and_single_steps_give_the_whole(mixer):
    x = mixer.inputs[torch.randint(5, (3, 7))]
    whole, last = mixer(x)
    for cut in range(1, 7):
        first, state = mixer(x[:, :cut])
        second, end = mixer(x[:, cut:], state)
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
        torch.testing.assert_close(end, last)
    state = None
    for t in range(7):
        y_t, state = mixer.step(x[:, t], state)
        torch.testing.assert_close(y_t, whole[:, t])


def test_each_token_moves_the_state_by_its_own_map(mixer):
    tokens = torch.randint(5, (2, 6))
    state = mixer.init_state(2)
    for t in range(6):
        state = torch.einsum("bnij,bnj->bni", mixer.linear[tokens[:, t]], state) + mixer.drive[tokens[:, t]]
    torch.testing.assert_close(mixer(mixer.inputs[tokens])[1], state)


def test_an_input_counts_as_the_token_next_to_it(mixer):
    x = mixer.inputs[torch.randint(5, (2, 6))]
    torch.testing.assert_close(mixer(x + 0.01 * torch.randn_like(x))[0], mixer(x)[0])


def test_gradients_reach_the_state_that_is_carried(mixer):
    state = mixer.init_state(2).requires_grad_()
    mixer(mixer.inputs[torch.randint(5, (2, 6))], state)[0].sum().backward()
    assert state.grad.norm() > 0


def test_maps_stay_exact_in_a_float32_model():
    layer = Hardened(8, n_tokens=5, block_size=4)
    assert layer.linear.dtype == torch.float64
    assert layer.init_state(2).dtype == layer(torch.randn(2, 3, 8))[0].dtype == torch.float32


def test_a_width_that_is_no_multiple_of_the_block_size_is_refused():
    with pytest.raises(ValueError, match="d_model must be a multiple of block_size 3, got 8"):
        Hardened(8, n_tokens=5, block_size=3)


@pytest.fixture
def extractor():
    layer = HardenedExtractor(8, n_tokens=3, period=2).double()
    layer.inputs.copy_(torch.randn(3, 8))
    layer.outputs.copy_(torch.randn(18, 8))
    layer.start.copy_(torch.tensor([1.0, 2.0]))
    return layer


def test_an_extractor_answers_by_the_place_and_the_last_tokens(extractor):
    tokens = torch.randint(3, (2, 7))
    y, last = extractor(extractor.inputs[tokens])
    for row in range(2):
        seen = [2, *tokens[row].tolist()]
        for t in range(7):
            situation = (1 + t) % 2 * 9 + seen[t] * 3 + seen[t + 1]
            assert torch.equal(y[row, t], extractor.outputs[situation])
        assert last[row].tolist() == [0, seen[-1]]


def test_every_split_and_single_steps_of_an_extractor_give_the_whole(extractor):
    x = extractor.inputs[torch.randint(3, (3, 7))]
    whole, last = extractor(x)
    for cut in range(1, 7):
        first, state = extractor(x[:, :cut])
        second, end = extractor(x[:, cut:], state)
        assert torch.equal(torch.cat([first, second], dim=1), whole)
        assert torch.equal(end, last)
    state = None
    for t in range(7):
        y_t, state = extractor.step(x[:, t], state)
        assert torch.equal(y_t, whole[:, t])


@pytest.mark.parametrize("period", [1, 3])
def test_an_extractor_has_a_row_for_each_place_and_word(period):
    layer = HardenedExtractor(4, n_tokens=2, period=period)
    words = torch.cartesian_prod(*[torch.arange(2)] * period).reshape(-1, period)
    situations, state = layer.situations(words.repeat(1, 4), layer.init_state(len(words)))
    assert situations[:, period:].unique().tolist() == list(range(period * 2**period))
    assert state.shape == (len(words), period)


def test_entries_that_are_very_near_to_one_another_are_told_apart():
    inputs = 8 * torch.randn(6, 64)
    inputs[3:] = inputs[:3] + 1e-4 * torch.randn(3, 64)
    assert nearest(inputs, inputs.unsqueeze(0))[0].tolist() == list(range(6))
