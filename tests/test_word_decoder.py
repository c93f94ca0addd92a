import math

import pytest
import torch

from mingru.word_decoder import WordDecoder, places


@pytest.mark.parametrize("width", [1, 2, 5, 16, 64])
def test_places_are_told_apart_and_do_not_depend_on_where_one_begins(width):
    like = torch.zeros(1, width, dtype=torch.float64)
    rows = places(0, 2000, like)
    assert rows.shape == (2000, width)
    torch.testing.assert_close(places(1990, 10, like), rows[1990:])
    if width > 1:
        assert len(rows.unique(dim=0)) == 2000


def test_waves_are_from_two_pi_to_ten_thousand_times_as_long():
    rows = places(0, 5, torch.zeros(1, 6, dtype=torch.float64))
    for t in range(5):
        angles = [t, t / 100, t / 10_000]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        torch.testing.assert_close(rows[t], torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=1e-7)


def test_a_decoder_adds_places_to_what_is_left_and_sees_nothing_else():
    decoder, x = WordDecoder(8, 3).double(), torch.randn(2, 8, dtype=torch.float64)
    logits = decoder(x, 4)
    assert logits.shape == (2, 4, 3)
    torch.testing.assert_close(logits[1, 3], decoder.layers(x[1] + places(3, 1, x)[0]))
    torch.testing.assert_close(decoder(x, 9)[:, :4], logits)
