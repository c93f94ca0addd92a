"""Texts: windows, shares of the splits, and the library's own source."""

from pathlib import Path

import pytest
import torch

from tasks.char_lm import BLOCK, PLACES, ROUND, CharLM, library_source


@pytest.fixture
def numbered(tmp_path):
    """A text whose place can be told from three bytes."""
    file = tmp_path / "numbered.txt"
    file.write_bytes(b"".join(bytes([i // 256 % 256, i % 256]) for i in range(30_000)))
    return str(file)


def drawn(task, batch, length):
    return task.sample(torch.Generator().manual_seed(3), batch, length)


def test_the_examples_of_the_docstring_hold():
    assert list(b"if x:") == [105, 102, 32, 120, 58]
    assert list(b"a+b\n") == [97, 43, 98, 10]


def test_the_target_is_the_next_byte(numbered):
    inputs, targets, _ = drawn(CharLM("mine", numbered), 50, 32)
    assert torch.equal(inputs[:, 1:], targets[:, :-1])


def test_splits_divide_the_text_among_them(numbered):
    text = Path(numbered).read_bytes()
    shares = {split: CharLM("mine", numbered).split(split) for split in ("train", "validation", "fresh", "test")}
    block = len(text) // ROUND
    for split, task in shares.items():
        seen = {bytes(row[:4]) for row in drawn(task, 300, 8).inputs.to(torch.uint8).numpy()}
        places = {text.find(window) // block for window in seen if text.count(window) == 1}
        if split != "train":
            assert places == {PLACES[split]}
        else:
            assert places.isdisjoint(PLACES.values())
            assert len(places) == ROUND - 3


def test_without_a_file_the_text_is_the_source_of_the_standard_library():
    text = library_source()
    assert len(text) > 5 * ROUND * BLOCK / 3
    assert b"class OrderedDict" in text
    task = CharLM("library")
    inputs, _, _ = drawn(task, 64, 64)
    assert (inputs == ord(" ")).double().mean() > 0.1
    assert 0.1 < task.chance(64) < 0.5


def test_a_short_text_has_shares_too_and_says_how_long_its_windows_are(tmp_path):
    (tmp_path / "short.txt").write_text("to be or not to be, that is the question: " * 10)
    task = CharLM("mine", str(tmp_path / "short.txt"))
    drawn(task, 4, 13)
    with pytest.raises(ValueError, match="mine: length 14 is not from 1 to 13, of which the text has windows in every split"):
        task.check_length(14)
    with pytest.raises(ValueError, match=r"nowhere\.txt: no such file"):
        CharLM("mine", "nowhere.txt")
