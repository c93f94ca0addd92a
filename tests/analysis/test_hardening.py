"""A near-representation becomes exact, its table is read without labels, and what is none is told so."""

import copy
import itertools
import math

import pytest
import torch

from mingru.analysis import certificate, rest
from mingru.analysis.exactness import count
from mingru.analysis.groups import fault
from mingru.analysis.hardening import harden, hardened_stack
from mingru.analysis.maps import Maps, read_flat
from mingru.analysis.representation import largest_violation
from mingru.analysis.states import mean_states, shares
from mingru.analysis.table import nearest, read_table, settled
from tests.analysis.models import noisy, products, sign_and_plane, table_of, trained_s3

TARGETS = torch.arange(6)


@pytest.fixture
def hardening():
    return harden(trained_s3(), table_of("S3"), TARGETS)


def standard_s5() -> torch.Tensor:
    """(120, 4, 4) in the order of the group's table: permutations of five points without their sum."""
    basis = torch.linalg.qr(torch.eye(5, dtype=torch.float64)[:, :4] - torch.eye(5, dtype=torch.float64)[:, 1:])[0]
    points = torch.eye(5, dtype=torch.float64)
    return torch.stack([basis.T @ points[list(p)].T @ basis for p in itertools.permutations(range(5))])


def test_the_table_of_s5_is_read_from_noisy_maps_without_labels():
    maps = noisy([standard_s5()] * 2, 0.02, 8, torch.Generator().manual_seed(1))
    assert largest_violation(maps.linear[:, 0].contiguous(), table_of("S5")) > 1.5
    reading = read_table(maps)
    assert reading.fault is None
    assert torch.equal(reading.table, table_of("S5"))
    assert 0 < reading.margin < 1


def test_products_that_are_nearer_to_another_are_told_apart_one_to_one():
    maps = noisy([standard_s5()] * 2, 0.05, 8, torch.Generator().manual_seed(0))
    alone = settled(maps, maps.after_first(), nearest)[1]
    assert fault(alone) == "not a Latin square"
    reading = read_table(maps)
    assert reading.fault is None
    assert torch.equal(reading.table, table_of("S5"))
    assert reading.assigned > 0


def test_a_random_family_of_orthogonal_maps_is_no_group():
    linear = torch.linalg.qr(torch.randn(6, 2, 8, 8, dtype=torch.float64))[0]
    maps = Maps(linear, torch.zeros(6, 2, 8, dtype=torch.float64), torch.randn(2, 8, dtype=torch.float64))
    assert read_table(maps).fault is not None
    assert float(shares(maps, mean_states(maps, table_of("S3"), 16), 16).max()) < 0.01


def test_the_mean_states_are_the_means_over_all_words():
    maps = noisy([sign_and_plane()[1]], 0.2, 4, torch.Generator().manual_seed(0))
    table = table_of("S3")
    words = torch.cartesian_prod(*[torch.arange(6)] * 3)
    state = maps.start.expand(len(words), 1, 4)
    for tokens in words.unbind(1):
        state = (maps.linear[tokens] @ state.unsqueeze(-1)).squeeze(-1) + maps.drive[tokens]
    product = products(table, words)[:, -1]
    wanted = torch.stack([state[product == g].mean(0) for g in range(6)])
    torch.testing.assert_close(mean_states(maps, table, 3), wanted)
    total = (state - state.mean(0)).square().sum(-1).mean(0)
    explained = (wanted - wanted.mean(0)).square().sum(-1).mean(0)
    torch.testing.assert_close(shares(maps, wanted, 3), explained / total)


def test_a_hardened_model_is_right_where_the_learned_one_drifts(hardening):
    assert hardening.right
    words = torch.randint(6, (4, 4000))
    targets = products(table_of("S3"), words)
    learned, exact = trained_s3(), hardened_stack(trained_s3(), hardening.exact)
    assert count(learned, [(words, targets)]).wrong > 0
    found = count(exact, [(words, targets)])
    assert (found.wrong, found.tokens, found.sequences, found.first) == (0, 16000, 4, None)


def test_hardening_twice_changes_nothing(hardening):
    exact = hardened_stack(trained_s3(), hardening.exact)
    again = harden(exact, table_of("S3"), TARGETS)
    torch.testing.assert_close(again.states, hardening.states, rtol=0, atol=1e-9)
    torch.testing.assert_close(read_flat(exact).linear, hardening.exact.linear, rtol=0, atol=1e-12)


def test_every_state_is_looked_at_after_every_token(hardening):
    stack, states = copy.deepcopy(trained_s3()).double(), hardening.states.flatten(1)
    exact = hardened_stack(stack, hardening.exact)
    words = torch.cartesian_prod(TARGETS, TARGETS)
    direct, _ = exact(words)
    pairs = torch.cat([found for found, _, _ in rest.logits(stack, stack.embed.weight, states)])
    torch.testing.assert_close(direct[:, 1], pairs[words[:, 1], table_of("S3")[words[:, 1], words[:, 0]]])
    assert hardening.answers.pairs == 36


def test_the_wrong_group_is_not_forced_on_a_model():
    assert not harden(trained_s3(), table_of("C6"), TARGETS).right


def test_no_answer_changes_within_the_safe_radius(hardening):
    stack, states = copy.deepcopy(trained_s3()).double(), hardening.states.flatten(1)
    radius = rest.safe_radius(stack, stack.embed.weight, states, TARGETS)
    assert radius > 0
    for _ in range(20):
        away = torch.randn_like(states)
        moved = states + radius * away / away.norm(dim=1, keepdim=True)
        assert all(bool((found.argmax(-1) == TARGETS).all()) for found, _, _ in rest.logits(stack, stack.embed.weight, moved))


def test_the_radius_is_zero_where_an_answer_is_wrong(hardening):
    stack = trained_s3()
    assert rest.safe_radius(stack, stack.embed.weight, hardening.states.flatten(1), TARGETS.flip(0)) == 0


def test_rounding_stays_below_its_bound(hardening):
    grown = [certificate.growth(hardening, block, torch.float32) for block in range(4)]
    words = torch.randint(6, (8, 2000))
    exact = hardened_stack(trained_s3(), hardening.exact)
    layer = exact.blocks[0].mixer
    states = layer(layer.inputs[words])[0].double()
    off = (states - hardening.states.flatten(1)[products(hardening.table, words)]).norm(dim=-1)
    bounds = torch.tensor([math.hypot(*(block.after(t + 1) for block in grown)) for t in range(2000)])
    assert bool((off.amax(0) < bounds).all())
    assert float(bounds[-1]) < 0.1


def test_tokens_are_counted_until_the_bound_reaches_the_radius(hardening):
    counts = [certificate.safe_tokens(hardening, radius, torch.float32) for radius in (0.01, 0.1)]
    assert 0 < counts[0] < counts[1]
    assert certificate.safe_tokens(hardening, 0.1, torch.float64) > 1e6 * counts[1]
    assert certificate.safe_tokens(hardening, 0.0, torch.float32) == 0


def test_a_wrong_answer_is_counted_where_it_is():
    stack = trained_s3()
    words = torch.randint(6, (2, 30))
    targets = stack(words)[0].argmax(-1)
    targets[1, 20] = (targets[1, 20] + 1) % 6
    found = count(stack, [(words, targets)])
    assert (found.wrong, found.wrong_sequences, found.first) == (1, 1, 21)
