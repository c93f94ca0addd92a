import pytest
import torch
from torch import nn

from mingru import metrics
from mingru.metrics import IGNORE, Scores, loss_sum, run_in_pieces
from mingru.mixers.signed import Signed
from mingru.stack import Stack
from tasks.base import IGNORE as TASKS_IGNORE
from tasks.base import Batch


class Echo(nn.Module):
    """Answers each token with itself, but with `wrong` wherever the running count of tokens (its state) is a multiple of `every`."""

    def __init__(self, every: int, n_tokens: int = 5) -> None:
        super().__init__()
        self.every, self.n_tokens = every, n_tokens

    def forward(self, tokens, state=None, delta_t=None):
        counted = torch.zeros(len(tokens), dtype=torch.long) if state is None else state
        position = counted[:, None] + torch.arange(1, tokens.shape[1] + 1)
        answer = torch.where(position % self.every == 0, (tokens + 1) % self.n_tokens, tokens)
        return nn.functional.one_hot(answer, self.n_tokens).double(), position[:, -1]


def test_the_unscored_target_is_one_number_for_library_and_tasks():
    assert IGNORE == TASKS_IGNORE


def test_accuracy_counts_tokens_and_sequences_over_batches_of_any_size():
    tokens = torch.randint(5, (7, 6))
    scores = Scores()
    for part in (tokens[:4], tokens[4:]):
        scores.update(Echo(every=4), Batch(part, part))
    assert scores.accuracy == 5 / 6
    assert scores.sequence_accuracy == 0.0
    assert scores.position_accuracy() == [1, 1, 1, 0, 1, 1]
    assert scores.position_accuracy(windows=2) == [1, 2 / 3]
    assert scores.sequences == 7


def test_unscored_positions_count_neither_as_right_nor_as_wrong():
    tokens = torch.randint(5, (3, 8))
    targets = tokens.clone()
    targets[:, ::2] = IGNORE
    scores = Scores()
    scores.update(Echo(every=8), Batch(tokens, targets))
    assert scores.scored == 12
    assert scores.accuracy == 9 / 12
    assert scores.position_accuracy() == [None, 1, None, 1, None, 1, None, 0]


def test_a_sequence_is_right_when_no_scored_token_is_wrong():
    tokens = torch.randint(5, (3, 8))
    targets = tokens.clone()
    targets[0, -1] = IGNORE
    scores = Scores()
    scores.update(Echo(every=8), Batch(tokens, targets))
    assert scores.sequence_accuracy == 1 / 3


@pytest.mark.parametrize("length", [1, 7, 8, 9, 50])
def test_long_sequences_go_through_in_pieces_with_the_same_outputs(monkeypatch, length):
    tokens = torch.randint(5, (2, length))
    whole = run_in_pieces(Echo(every=3), tokens, None)
    monkeypatch.setattr(metrics, "TOKENS_AT_ONCE", 16)
    assert torch.equal(run_in_pieces(Echo(every=3), tokens, None), whole)


def test_the_last_positions_head_keeps_the_last_piece(monkeypatch):
    class Last(Echo):
        def forward(self, tokens, state=None, delta_t=None):
            logits, state = super().forward(tokens, state)
            return logits[:, -1], state

    tokens = torch.randint(5, (2, 20))
    monkeypatch.setattr(metrics, "TOKENS_AT_ONCE", 16)
    scores = Scores()
    scores.update(Last(every=100), Batch(tokens, tokens[:, -1]))
    assert (scores.accuracy, scores.sequence_accuracy, scores.scored) == (1.0, 1.0, 2)


@pytest.mark.parametrize("length", [5, 15, 24])
def test_a_word_decoded_in_pieces_is_the_whole_word(monkeypatch, length):
    stack = Stack([Signed], 8, n_outputs=5, n_tokens=5, head="autoencode")
    tokens = torch.randint(5, (2, length))
    whole = run_in_pieces(stack, tokens, None)
    assert whole.shape == (2, length, 5)
    monkeypatch.setattr(metrics, "TOKENS_AT_ONCE", 16)
    torch.testing.assert_close(run_in_pieces(stack, tokens, None), whole)


def test_loss_is_the_mean_over_scored_positions_or_elements():
    logits, targets = torch.randn(2, 3, 4), torch.tensor([[0, 1, IGNORE], [3, IGNORE, 2]])
    total, count = loss_sum(logits, targets)
    by_hand = -sum(logits[b, t].log_softmax(-1)[targets[b, t]] for b, t in ((0, 0), (0, 1), (1, 0), (1, 2)))
    assert count == 4
    assert torch.allclose(total, by_hand)
    values = torch.randn(2, 3, 4)
    total, count = loss_sum(logits, values)
    assert count == 24
    assert torch.allclose(total, ((logits - values) ** 2).sum())
