"""Orders, exponents, derived series and subgroups against published tables and brute force."""

from itertools import product

import numpy as np
import pytest

from tasks.algebra.names import named_group
from tasks.algebra.structure import element_orders, generating_set, inverses, structure, subgroup
from tasks.algebra.subgroups import is_normal, subgroups

# Exponent, derived series, abelianisation.
TABLE = {
    "C1": (1, (1,), ()),
    "C2": (2, (2, 1), (2,)),
    "Z60": (60, (60, 1), (60,)),
    "C2_x_C4": (4, (8, 1), (2, 4)),
    "C3_x_C6": (6, (18, 1), (3, 6)),
    "C4_x_C6_x_C9": (36, (216, 1), (6, 36)),
    "S3": (6, (6, 3, 1), (2,)),
    "D4": (4, (8, 2, 1), (2, 2)),
    "D5": (10, (10, 5, 1), (2,)),
    "D6": (6, (12, 3, 1), (2, 2)),
    "Q8": (4, (8, 2, 1), (2, 2)),
    "Dic3": (12, (12, 3, 1), (4,)),
    "C7:C3": (21, (21, 7, 1), (3,)),
    "A4": (6, (12, 4, 1), (3,)),
    "S4": (12, (24, 12, 4, 1), (2,)),
    "SL(2,3)": (12, (24, 8, 2, 1), (3,)),
    "GL(2,3)": (24, (48, 24, 8, 2, 1), (2,)),
    "Heis3": (3, (27, 3, 1), (3, 3)),
    "C2_wr_S3": (12, (48, 12, 4, 1), (2, 2)),
    "A4_x_Z5": (30, (60, 4, 1), (15,)),
    "A5": (30, (60,), ()),
    "S5": (60, (120, 60), (2,)),
    "SL(2,5)": (60, (120,), ()),
    "A5_x_Z60": (60, (3600, 60), (60,)),
    "S7": (420, (5040, 2520), (2,)),
}


@pytest.mark.parametrize("name", TABLE)
def test_the_structure_of_known_groups(name):
    found = structure(named_group(name))
    assert (found.exponent, found.derived_series, found.abelianisation) == TABLE[name]
    assert found.order == found.derived_series[0] == named_group(name).order
    assert found.is_solvable == (found.derived_series[-1] == 1)
    assert found.is_abelian == (np.prod(found.abelianisation) == found.order)


def test_the_derived_length_counts_abelian_layers():
    lengths = {"C1": 0, "Z60": 1, "S3": 2, "A4": 2, "D4": 2, "S4": 3, "SL(2,3)": 3, "GL(2,3)": 4, "A5": None, "S5": None}
    assert {name: structure(named_group(name)).derived_length for name in lengths} == lengths


@pytest.mark.parametrize("name", ["C12", "S4", "Dic3", "SL(2,3)", "C2_x_C4", "Heis3"])
def test_orders_and_inverses_are_what_multiplying_out_gives(name):
    group = named_group(name)
    for element, order, inverse in zip(range(group.order), element_orders(group), inverses(group), strict=True):
        powers, power = 1, element
        while power != 0:
            powers, power = powers + 1, int(group.step(np.array(element), np.array(power)))
        assert powers == order
        assert group.step(np.array(element), inverse) == group.step(inverse, np.array(element)) == 0


@pytest.mark.parametrize("name", ["C1", "C6", "S4", "Q8", "A5_x_Z60", "S7"])
def test_a_generating_set_generates(name):
    group = named_group(name)
    generators = generating_set(group)
    assert subgroup(group, generators).all()
    assert not any(subgroup(group, generators[:i])[g] for i, g in enumerate(generators))


@pytest.mark.parametrize(
    ("name", "count", "normal"),
    [("C1", 1, 1), ("C12", 6, 6), ("S3", 6, 3), ("Q8", 6, 6), ("D4", 10, 6), ("A4", 10, 3), ("S4", 30, 4), ("A5", 59, 2), ("S5", 156, 3)],
)
def test_subgroups_are_all_found_once(name, count, normal):
    group = named_group(name)
    found = subgroups(group)
    assert len({mask.tobytes() for mask in found}) == len(found) == count
    assert sum(is_normal(group, mask) for mask in found) == normal
    for mask in found:
        members = np.flatnonzero(mask)
        assert mask[group.step(members[:, None], members)].all()
        assert group.order % mask.sum() == 0


def test_subgroups_are_what_trying_every_subset_gives():
    group = named_group("D4")
    masks = [np.array([True, *rest]) for rest in product([False, True], repeat=7)]
    closed = [m for m in masks if m[group.step(np.flatnonzero(m)[:, None], np.flatnonzero(m))].all()]
    assert {m.tobytes() for m in closed} == {m.tobytes() for m in subgroups(group)}


def test_subgroups_of_a_larger_group_are_refused():
    with pytest.raises(ValueError, match="up to order 120, got 168"):
        subgroups(named_group("GL(3,2)"))
