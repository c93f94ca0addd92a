"""Groups by name: the label at every position against products of permutations, matrices, residues and pairs, worked out here."""

from itertools import permutations, product

import pytest
import torch

from mingru import settings
from tasks.algebra.cayley import CayleyTable
from tasks.algebra.metacyclic import cyclic_group
from tasks.algebra.names import named_group
from tasks.algebra.permutations import Permutations
from tasks.algebra.products import DirectProduct, semidirect_product
from tasks.word_problem import WordProblem
from tests.composed import composed


def after(p, q):
    return tuple(p[i] for i in q)


def even(p):
    return sum(a > b for i, a in enumerate(p) for b in p[i + 1 :]) % 2 == 0


def symmetric(n):
    return list(permutations(range(n))), after


def alternating(n):
    return list(filter(even, permutations(range(n)))), after


def residues(n):
    return list(range(n)), lambda a, b: (a + b) % n


def dihedral(n):
    """Rotations, then reflections, as permutations of the corners of a polygon."""
    return [tuple((k + sign * i) % n for i in range(n)) for sign in (1, -1) for k in range(n)], after


def unit_quaternions(n):
    """a is a rotation by pi / n and x is j: complex pairs u + v j, with j u = conj(u) j and j j = -1, kept as powers of a."""

    def multiply(one, other):
        (i, e), (k, f) = one, other
        # j^2 = a^n
        return ((i + (-k if e else k) + n * (e + f == 2)) % (2 * n), (e + f) % 2)

    return [(i, e) for e in (0, 1) for i in range(2 * n)], multiply


def metacyclic(n, m, r):
    """x -> r^e x + i on residues modulo n, with e kept modulo m."""

    def multiply(one, other):
        (e, i), (f, k) = one, other
        return ((e + f) % m, (i + r**e * k) % n)

    return list(product(range(m), range(n))), multiply


def matrix_product(modulus):
    def multiply(a, b):
        return tuple(tuple(sum(x * y for x, y in zip(row, column, strict=True)) % modulus for column in zip(*b, strict=True)) for row in a)

    return multiply


def breadth_first(generators, multiply):
    size = range(len(generators[0]))
    elements = [tuple(tuple(int(i == j) for j in size) for i in size)]
    latest = elements[:]
    while latest:
        products = dict.fromkeys(multiply(g, x) for g in generators for x in latest)
        latest = [x for x in products if x not in elements]
        elements += latest
    return elements, multiply


def special_linear(prime):
    return breadth_first([((1, 1), (0, 1)), ((1, 0), (1, 1))], matrix_product(prime))


def general_linear(prime, root):
    return breadth_first([((1, 1), (0, 1)), ((1, 0), (1, 1)), ((root, 0), (0, 1))], matrix_product(prime))


def heisenberg(n):
    return breadth_first([((1, 1, 0), (0, 1, 0), (0, 0, 1)), ((1, 0, 0), (0, 1, 1), (0, 0, 1))], matrix_product(n))


def direct(*factors):
    multiplications = [multiply for _, multiply in factors]
    elements = list(product(*(elements for elements, _ in factors)))
    return elements, lambda a, b: tuple(m(x, y) for m, x, y in zip(multiplications, a, b, strict=True))


def wreath(base, places):
    elements, multiply = base

    def combine(one, other):
        """(f, p) sends x in place i to f[p(i)] x in place p(i)."""
        (f, p), (g, q) = one, other
        moved = [None] * len(p)
        for i in range(len(p)):
            moved[p[i]] = multiply(f[p[i]], g[i])
        return tuple(moved), after(p, q)

    return [(f, p) for f in product(elements, repeat=len(places[0])) for p in places], combine


MODELS = {
    "C1": residues(1),
    "C6": residues(6),
    "Z60": residues(60),
    "D3": dihedral(3),
    "D4": dihedral(4),
    "D5": dihedral(5),
    "Q8": unit_quaternions(2),
    "Q16": unit_quaternions(4),
    "Dic3": unit_quaternions(3),
    "S1": symmetric(1),
    "S3": symmetric(3),
    "S4": symmetric(4),
    "S5": symmetric(5),
    "S7": symmetric(7),
    "A3": alternating(3),
    "A4": alternating(4),
    "A5": alternating(5),
    "A6": alternating(6),
    "C7:C3": metacyclic(7, 3, 2),
    "C3:C4": metacyclic(3, 4, 2),
    "C8:5:C2": metacyclic(8, 2, 5),
    "SL(2,3)": special_linear(3),
    "SL2_5": special_linear(5),
    "GL(2,3)": general_linear(3, 2),
    "Heis3": heisenberg(3),
    "Heis4": heisenberg(4),
    "C2_x_C4": direct(residues(2), residues(4)),
    "C3_x_C6": direct(residues(3), residues(6)),
    "A4_x_Z5": direct(alternating(4), residues(5)),
    "A5_x_Z60": direct(alternating(5), residues(60)),
    "S3_x_Q8_x_C5": direct(symmetric(3), unit_quaternions(2), residues(5)),
    "C2_wr_S3": wreath(residues(2), symmetric(3)[0]),
    "C3_wr_C2": wreath(residues(3), [(0, 1), (1, 0)]),
    "S3_wr_C2": wreath(symmetric(3), [(0, 1), (1, 0)]),
    "C2_wr_D4_x_C3": direct(wreath(residues(2), dihedral(4)[0]), residues(3)),
    "A5_wr_C2": wreath(alternating(5), [(0, 1), (1, 0)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_label_is_the_product_of_the_elements_so_far_newest_on_the_left(name):
    elements, multiply = MODELS[name]
    task = WordProblem(name, name)
    assert task.inputs.size == task.targets.size == len(elements)
    batch = task.sample(torch.Generator().manual_seed(7), 8, 64)
    assert torch.equal(task.oracle(batch), batch.targets)
    for word, labels in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        state = elements[0]
        for token, label in zip(word, labels, strict=True):
            state = multiply(elements[token], state)
            assert elements[label] == state


def test_groups_too_large_for_a_table_multiply_permutations_or_factors():
    kinds = {"S5": CayleyTable, "C2_wr_S5": CayleyTable, "S7": Permutations, "A5_wr_C2": Permutations, "A5_x_Z60": DirectProduct}
    assert {name: type(named_group(name)) for name in kinds} == kinds
    assert named_group("S5").table.dtype == "uint8"
    assert named_group("C2_wr_S5").table.dtype == "uint16"


def test_a_semidirect_product_acts_by_the_automorphisms_given():
    inverse = [(-i) % 5 for i in range(5)]
    group = semidirect_product(cyclic_group(5), cyclic_group(2), [list(range(5)), inverse])
    for (a, g), (b, h) in product(product(range(5), range(2)), repeat=2):
        assert group.table[2 * a + g, 2 * b + h] == 2 * ((a + (-b if g else b)) % 5) + (g + h) % 2
    with pytest.raises(ValueError, match=r"not associative|no identity"):
        semidirect_product(cyclic_group(5), cyclic_group(2), [list(range(5)), [0, 2, 1, 3, 4]])
    with pytest.raises(ValueError, match="got 10 elements and 1 automorphisms for 2 elements"):
        semidirect_product(cyclic_group(5), cyclic_group(2), [inverse])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("X9", r"group 'X9' is unknown; valid: C6 D4 S4 .* A4_x_Z5"),
        ("A4_x_Y5", "group 'Y5' in 'A4_x_Y5' is unknown"),
        ("s3", "group 's3' is unknown"),
        ("S0", "degree 1 to 7, got 0"),
        ("S8", "degree 1 to 7, got 8"),
        ("A8", "degree 1 to 7, got 8"),
        ("C0", "order 1 to 4096, got 0"),
        ("C5000", "order 1 to 4096, got 5000"),
        ("D0", "from 1 to 2048, got 0"),
        ("Dic0", "from 1 to 1024, got 0"),
        ("Q12", "order 8, 16, 32, ..., got 12"),
        ("C7:2:C2", r"no group of order 7 \* 2"),
        ("SL(2,4)", "prime modulus, got 2 and 4"),
        ("SL(2,29)", "more than 20000 elements"),
        ("Heis28", "modulus from 2 to 27, got 28"),
        ("C2_wr_Q8", "S, A, C or D on its right"),
        ("S3_wr_S5", r"got 6\^5 \* 120"),
        ("S7_x_C5", "up to 20000 elements, got 25200"),
        ("nothing.csv", "nothing.csv: no such file"),
    ],
)
def test_a_name_that_stands_for_no_group_is_one_line(name, message):
    with pytest.raises(ValueError, match=message) as error:
        WordProblem("mine", name)
    assert str(error.value).startswith("mine: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("word", "order"),
    [
        ("task.group=A4_x_Z5", 60),
        ("task.group=C7:C3", 21),
        ("task.group=C8:3:C2", 16),
        ("task.group=SL2_3", 24),
        ('task.group="SL(2,3)"', 24),
        ("task.group=C2_wr_S3", 48),
    ],
)
def test_a_name_can_be_written_on_the_command_line(word, order):
    config = settings.resolve(composed("task=group", word))
    assert settings.build(config["task"]).inputs.size == order


def test_an_alphabet_can_be_written_on_the_command_line():
    for word, size in (("task.alphabet=[1,2]", 2), ("task.alphabet=generators", 4), ("task.alphabet=null", 120)):
        config = settings.resolve(composed("task=s5", word))
        assert settings.build(config["task"]).inputs.size == size
