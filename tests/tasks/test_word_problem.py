"""Word problems against the reference's definition, written out again here, and their floors against counting."""

from itertools import product

import pytest
import torch
from omegaconf import OmegaConf

from tasks.algebra.latin import is_isotopic_to_group
from tasks.algebra.metacyclic import cyclic_group
from tasks.base import Batch, Task, accuracy, classes, tokens
from tasks.word_problem import WordProblem

S3 = [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)]
LATIN = ["345012", "423150", "234501", "012345", "150423", "501234"]
# A loop that is no group.
LOOP = [[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]]
NAMES = ["parity", "s3", "s3_hier"]


@pytest.fixture(params=[*NAMES, "two_levels", "flip_flop", "transpositions"])
def task(request, preset):
    if request.param == "transpositions":
        # Even and odd permutations take turns, so that the states never become equally likely.
        return WordProblem("transpositions", preset("s3").group, [1, 2])
    if request.param == "two_levels":
        return WordProblem("two_levels", cyclic_group(5), levels=2, table_seed=0)
    return preset(request.param)


def after(p, q):
    return tuple(p[i] for i in q)


def sampled(task, batch=16, length=64):
    return task.sample(torch.Generator().manual_seed(7), batch, length)


def test_parity_is_the_residue_of_the_count_of_ones_so_far(preset):
    batch = sampled(preset("parity"))
    assert torch.equal(batch.targets, batch.inputs.cumsum(1) % 2)


def test_s3_is_the_product_of_the_permutations_so_far_newest_on_the_left(preset):
    batch = sampled(preset("s3"))
    for word, labels in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        state = S3[0]
        for token, label in zip(word, labels, strict=True):
            state = after(S3[token], state)
            assert S3[label] == state


def test_s3_hier_composes_at_odd_positions_what_two_tokens_select_and_waits_at_even_ones(preset):
    batch = sampled(preset("s3_hier"))
    for word, labels in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        state = S3[0]
        for t, label in enumerate(labels):
            if t % 2 == 1:
                state = after(S3[int(LATIN[word[t - 1]][word[t]])], state)
            assert S3[label] == state


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_levels_pair_the_pairs(levels):
    task = WordProblem("nested", "C7", levels=levels, table_seed=3)
    square = task.latin_square.tolist()
    batch = sampled(task)
    for word, labels in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        state = 0
        for t, label in enumerate(labels):
            if (t + 1) % 2**levels == 0:
                spelled = word[t + 1 - 2**levels : t + 1]
                while len(spelled) > 1:
                    spelled = [square[spelled[i]][spelled[i + 1]] for i in range(0, len(spelled), 2)]
                state = (state + spelled[0]) % 7
            assert label == state


def test_the_table_seed_is_all_a_drawn_square_depends_on():
    squares = [WordProblem(name, "S4", levels=1, table_seed=seed).latin_square for name, seed in (("a", 0), ("b", 0), ("a", 1))]
    assert (squares[0] == squares[1]).all()
    assert (squares[0] != squares[2]).any()
    assert not is_isotopic_to_group(squares[0])


def test_the_reference_sample_is_reproduced(preset):
    batch = preset("s3_hier").sample(torch.Generator().manual_seed(1), 128, 64)
    assert batch.inputs[0, :6].tolist() == [1, 5, 0, 2, 1, 1]
    assert batch.targets[0, :6].tolist() == [0, 0, 0, 5, 5, 1]


def test_the_examples_of_the_docstring_hold(preset):
    for name, word, labels in (("parity", "1011", "1101"), ("s3_hier", "150211", "000551")):
        found = preset(name).oracle(Batch(torch.tensor([[int(x) for x in word]]), torch.empty(0)))
        assert "".join(map(str, found[0].tolist())) == labels


def test_the_oracle_scores_1_at_every_length(task):
    for length in (4, 64, 256):
        batch = sampled(task, 8, length)
        assert torch.equal(task.oracle(batch), batch.targets)


def test_a_task_has_what_the_protocol_asks_for(task):
    assert isinstance(task, Task)
    assert task.head == "per_position"
    assert task.metric == accuracy(0.99)
    assert task.inputs == tokens(task.group.n_tokens)
    assert task.targets == classes(task.group.n_states)


def test_a_batch_is_contiguous_int64_of_the_asked_shape_in_range(task):
    batch = sampled(task, 3, 8)
    for field, space in ((batch.inputs, task.inputs), (batch.targets, task.targets)):
        assert field.shape == (3, 8)
        assert field.dtype == torch.int64
        assert field.is_contiguous()
        assert 0 <= field.min() <= field.max() < space.size
    assert batch.delta_t is None


def test_floors_are_what_counting_every_word_gives(task):
    length = {2: 12, 3: 6, 5: 4, 6: 4}[task.inputs.size]
    words = torch.tensor(list(product(range(task.inputs.size), repeat=length)))
    labels = task.oracle(Batch(words, words))
    counts = torch.stack([(labels == c).sum(0) for c in range(task.targets.size)]).double()
    best = counts.max(0).values / len(words)
    torch.testing.assert_close(task.position_chance(length), best, rtol=1e-12, atol=0)
    assert task.chance(length) == pytest.approx(best.mean().item(), abs=1e-12)
    assert task.constant(length) == pytest.approx((counts.sum(1).max() / counts.sum()).item(), abs=1e-12)


def test_a_constant_is_never_better_than_chance_not_even_by_rounding(task):
    assert all(task.constant(length) <= task.chance(length) for length in range(4, 100, 12))


@pytest.mark.parametrize(("name", "chance"), [("parity", 1 / 2), ("s3", 1 / 6), ("s3_hier", 0.1797)])
def test_floors_at_length_64_are_what_counting_samples_gives(preset, name, chance):
    task = preset(name)
    labels = sampled(task, 20_000).targets
    shares = torch.stack([(labels == c).double().mean(0) for c in range(task.targets.size)])
    torch.testing.assert_close(task.position_chance(64), shares.max(0).values, rtol=0, atol=0.02)
    assert task.chance(64) == pytest.approx(chance, abs=1e-4)
    assert task.constant(64) == pytest.approx(shares.mean(1).max().item(), abs=0.005)


def test_s3_hier_is_known_at_the_first_position_and_one_in_six_after(preset):
    assert preset("s3_hier").position_chance(8).tolist() == pytest.approx([1] + [1 / 6] * 7)
    floors = [preset("s3_hier").constant(length) for length in (64, 128, 256, 1024)]
    assert floors == pytest.approx([0.1797, 0.1732, 0.1699, 0.1675], abs=5e-5)


@pytest.mark.parametrize(
    ("name", "length", "message"),
    [
        ("s3_hier", 63, "s3_hier: length 63 is not a multiple of 2 tokens; nearest valid: 62 and 64"),
        ("s3_hier", 1, "s3_hier: length 1 is not a multiple of 2 tokens; nearest valid: 2"),
        ("s3_hier", 0, "s3_hier: length 0 is less than 1; nearest valid: 2"),
        ("s3", 0, "s3: length 0 is less than 1; nearest valid: 1"),
        ("parity", -4, "parity: length -4 is less than 1; nearest valid: 1"),
    ],
)
def test_an_impossible_length_is_one_line_with_the_nearest_valid_ones(preset, name, length, message):
    task = preset(name)
    calls = (task.check_length, task.chance, task.constant, task.position_chance, lambda n: task.sample(torch.Generator(), 1, n))
    for call in calls:
        with pytest.raises(ValueError, match=f"^{message}$"):
            call(length)


def test_valid_lengths_pass(preset):
    for name, length in (("parity", 1), ("s3", 63), ("s3_hier", 2), ("s3_hier", 1024)):
        preset(name).check_length(length)


def test_an_empty_batch_is_refused(task):
    with pytest.raises(ValueError, match="a batch has 1 sequence or more, got 0"):
        task.sample(torch.Generator(), 0, 64)


@pytest.mark.parametrize(
    ("group", "settings", "message"),
    [
        ("S3", {"levels": 1}, "levels=1 goes with a latin_square or a table_seed, one of them"),
        ("S3", {"levels": 1, "latin_square": LOOP, "table_seed": 0}, "levels=1 goes with a latin_square or a table_seed, one of them"),
        ("S3", {"latin_square": LOOP}, "levels=0 goes with no latin_square and no table_seed"),
        ("S3", {"table_seed": 0}, "levels=0 goes with no latin_square and no table_seed"),
        ("S3", {"levels": -1, "table_seed": 0}, "levels=-1 goes with nothing; it is 0 or more"),
        ("S3", {"levels": 1, "latin_square": LOOP}, "a Latin square of order 5 cannot select among 6 elements"),
        ("S3", {"levels": 1, "latin_square": [[0, 1], [0, 1]]}, "not a Latin square"),
        ("C2", {"levels": 1, "latin_square": [[0, 1], [1, 0]]}, "every Latin square of order 2 is isotopic to a group"),
        ("C4", {"levels": 1, "table_seed": 0}, "every Latin square of order 4 is isotopic to a group; a hierarchy needs order 5 or more"),
        ("C5", {"levels": 1, "latin_square": cyclic_group(5).table}, "this Latin square is isotopic to a group"),
        ("C121", {"levels": 1, "table_seed": 0}, "drawn up to order 120, got 121; give one instead"),
        ("S3", {"alphabet": [0, 6]}, r"alphabet: 6 is outside the tokens 0\.\.5"),
        ("S3", {"alphabet": [1, 1]}, r"each listed once, is wanted, got \[1, 1\]"),
        ("S3", {"alphabet": []}, r"one token or more, each listed once, is wanted, got \[\]"),
        ("S3", {"alphabet": "all"}, "or the generators of a group are wanted, got 'all'"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(group, settings, message):
    with pytest.raises(ValueError, match=f"^wrong: .*{message}") as error:
        WordProblem("wrong", group, **settings)
    assert "\n" not in str(error.value)


def test_a_token_out_of_range_is_named(preset):
    for task, word in ((preset("s3"), [[0, 6]]), (preset("s3_hier"), [[-1, 0]])):
        with pytest.raises(ValueError, match=rf"token {min(word[0]) or 6} is outside 0\.\.5"):
            task.oracle(Batch(torch.tensor(word), torch.empty(0)))


@pytest.mark.parametrize(("alphabet", "elements"), [([3, 1], [3, 1]), ("generators", [1, 2])])
def test_an_alphabet_restricts_the_tokens_and_keeps_the_states(preset, alphabet, elements):
    task = WordProblem("some", preset("s3").group, alphabet)
    assert (task.inputs, task.targets) == (tokens(2), classes(6))
    batch = sampled(task)
    named = torch.tensor(elements)[batch.inputs]
    assert torch.equal(preset("s3").oracle(Batch(named, named)), batch.targets)


def test_default_extractors_are_none_for_flat_tasks_and_signed_for_the_hierarchy(task_folder):
    extractors = {name: OmegaConf.load(task_folder / f"{name}.yaml").extractor for name in NAMES}
    assert extractors == {"parity": "none", "s3": "none", "s3_hier": "signed"}
