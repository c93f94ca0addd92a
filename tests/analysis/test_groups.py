"""A table is a group's or it is not, and of which one."""

import pytest
import torch

from mingru.analysis import groups
from tests.analysis.models import table_of


@pytest.mark.parametrize(
    ("name", "abelian", "orders"),
    [
        ("C1", True, {1: 1}),
        ("C6", True, {1: 1, 2: 1, 3: 2, 6: 2}),
        ("S3", False, {1: 1, 2: 3, 3: 2}),
        ("Q8", False, {1: 1, 2: 1, 4: 6}),
        ("A5", False, {1: 1, 2: 15, 3: 20, 5: 24}),
    ],
)
def test_groups_are_told_by_the_orders_of_their_elements(name, abelian, orders):
    found = groups.describe(table_of(name))
    assert (found.abelian, found.element_orders, found.identity) == (abelian, orders, 0)


def test_a_group_stays_one_when_its_elements_are_renamed():
    table, names = table_of("S4"), torch.randperm(24)
    renamed = torch.empty_like(table)
    renamed[names[:, None], names] = names[table]
    assert groups.identity(renamed) == int(names[0])
    assert groups.describe(renamed).element_orders == groups.describe(table).element_orders


def test_one_wrong_product_is_no_group():
    table = table_of("S4")
    table[5, 7] = (table[5, 7] + 1) % 24
    assert groups.fault(table) == "not a Latin square"


def test_a_loop_that_is_no_group_is_found_out():
    """The smallest loop that is not associative."""
    loop = torch.tensor([[0, 1, 2, 3, 4], [1, 0, 3, 4, 2], [2, 4, 0, 1, 3], [3, 2, 4, 0, 1], [4, 3, 1, 2, 0]])
    assert groups.fault(loop) == "not associative"
    with pytest.raises(ValueError, match="not associative"):
        groups.describe(loop)


def test_a_latin_square_without_identity_is_no_group():
    assert groups.fault((torch.arange(3).unsqueeze(1) - torch.arange(3)) % 3) == "no element leaves all others unchanged"
