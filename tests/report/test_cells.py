"""What belongs to one cell, and names that tell cells apart."""

from __future__ import annotations

import math

import pytest

from mingru.report.cells import labels, stack_name, text
from mingru.report.fit_rate import fit_rates
from tests.report.synthetic import cell_of, run, table


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"lr": 1e-3}, {"lr": 0.001}),
        ({"lr": "1e-3"}, {"lr": 0.001}),
        ({"steps": 1600}, {"steps": 1600.0}),
        ({"lengths": [64, 256]}, {"lengths": (64.0, 256)}),
        ({"snap": None}, {}),
        ({"snap": math.nan}, {"snap": None}),
        ({"coupled": False}, {}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ],
)
def test_one_setting_has_one_text_however_it_is_spelled(one, other):
    assert text(one) == text(other)


@pytest.mark.parametrize(
    ("one", "other"), [({"lr": 1e-3}, {"lr": 2e-3}), ({"coupled": True}, {}), ({"snap": [2, 3]}, {"snap": [3, 2]}), ({"a": "1"}, {"a": 1})]
)
def test_another_setting_has_another_text(one, other):
    assert text(one) != text(other)


def test_cells_whose_hashes_differ_by_spelling_only_are_one():
    runs = [run(True, lr=0.003), run(True, seed=1, lr=3e-3, cell="ffffffff")]
    (cell,) = fit_rates(table(*runs)).itertuples()
    assert cell.n == 2


@pytest.mark.parametrize("change", [{"steps": 800}, {"lr": 1e-3}, {"batch_size": 64}, {"recipe": "clip"}, {"length": 32}])
def test_another_protocol_or_length_is_another_family(change):
    rates = fit_rates(table(*cell_of(1, 2), *cell_of(1, 2, **change)))
    assert list(rates["n"]) == [2, 2]
    assert list(rates["label"]) == ["givens", "givens"]
    assert len(rates.groupby(["length", "protocol"])) == 2


@pytest.mark.parametrize("change", [{"outputs": "/elsewhere"}, {"threads": 2}, {"rerun": "failed"}, {"logger": {"kind": "none"}}])
def test_where_and_how_a_run_was_made_splits_no_cell(change):
    (cell,) = fit_rates(table(run(True), run(True, seed=1, **change))).itertuples()
    assert cell.n == 2


def test_cells_of_one_mixer_are_named_by_the_settings_in_which_they_differ():
    runs = [*cell_of(1, 2), *cell_of(1, 2, settings={"block_size": 4}), *cell_of(1, 2, "log")]
    assert sorted(fit_rates(table(*runs))["label"]) == ["givens block_size=4", "givens block_size=8", "log"]


def test_width_and_depth_tell_cells_apart():
    layer = {"mixer": "givens", "block_size": 8, "rounds": 3}
    wide = fit_rates(table(*cell_of(1, 1), *cell_of(1, 1, d_model=128)))
    deep = fit_rates(table(*cell_of(1, 1, stack=[layer]), *cell_of(1, 1, stack=[layer, layer])))
    assert sorted(wide["label"]) == ["givens d_model=128", "givens d_model=64"]
    assert sorted(deep["label"]) == ["givens layers=givens", "givens layers=givens x2"]


def test_a_setting_that_only_one_cell_has_is_in_its_name():
    assert labels(["a", "a"], [{"decay": 0.05}, {}], ["1", "2"]) == ["a decay=0.05", "a"]


def test_cells_that_nothing_visible_tells_apart_go_by_their_hash():
    assert labels(["a", "a", "b"], [{}, {}, {}], ["11111111", "22222222", "33333333"]) == ["a #11111111", "a #22222222", "b"]


def test_a_label_that_grows_too_long_becomes_a_hash():
    settings = [{f"setting_{i}": value for i in range(5)} for value in (1, 2)]
    assert labels(["a", "a"], settings, ["11111111", "22222222"]) == ["a #11111111", "a #22222222"]


def test_a_stack_given_outright_is_the_cell_of_the_same_layers():
    outright = run(True, seed=1)
    outright.values["extractor"] = "another name for the same"
    (cell,) = fit_rates(table(run(True), outright)).itertuples()
    assert cell.n == 2


def test_no_two_cells_of_a_family_share_a_label():
    assert labels(["a", "a"], [{}, {}], ["11111111", "11111111"]) == ["a #11111111", "a #11111111 (2)"]


def test_a_stack_is_named_by_its_layers():
    assert stack_name([{"mixer": "signed"}, {"mixer": "givens"}]) == "signed+givens"
    assert stack_name([{"mixer": "signed"}] + 3 * [{"mixer": "givens"}]) == "signed+givens x3"
