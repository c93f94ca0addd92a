"""Small groups from GAP: against its real library where it may be installed, and what is said otherwise."""

import subprocess
import sys

import pytest

from tasks.algebra import gap
from tasks.algebra.names import known_group, named_group
from tasks.algebra.structure import structure
from tasks.algebra.subgroups import subgroups

# Enough of it for small groups.
PACKAGES = (
    "passagemath-gap passagemath-gap-pkg-smallgrp-data passagemath-gap-pkg-factint-data passagemath-categories passagemath-environment "
    "passagemath-objects cysignals gmpy2 memory_allocator platformdirs"
).split()

# What GAP's answers look like, for the process that asks.
STAND_IN = """
class Group:
    def __init__(self, generators): self.generators = generators
    def IsomorphismPermGroup(self): return self
    def Image(self): return self
    def LargestMovedPoint(self): return max((max(g) for g in self.generators), default=0)
    def GeneratorsOfGroup(self): return self.generators

class libgap:
    @staticmethod
    def SmallGroup(order, number):
        if (order, number) == (6, 1): return Group([[2, 1], [2, 3, 1]])
        if (order, number) == (1, 1): return Group([])
        if order == 7: raise RuntimeError("out of memory")
        raise ValueError("Error, there are just 2 groups of size 6")

    @staticmethod
    def ListPerm(permutation, degree): return permutation + list(range(len(permutation) + 1, degree + 1))
"""


@pytest.fixture(autouse=True)
def forget():
    gap.small_group.cache_clear()
    known_group.cache_clear()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    for module in ("passagemath_gap", "sage", "sage/libs", "sage/libs/gap"):
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").touch()
    (tmp_path / "sage" / "libs" / "gap" / "libgap.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_without_gap_a_small_group_says_what_to_install(monkeypatch):
    monkeypatch.setattr(gap.importlib.util, "find_spec", lambda name: None)
    for name in ("SmallGroup(24,3)", "SmallGroup24_3"):
        with pytest.raises(ValueError, match=r"^SmallGroup\(24,3\) needs GAP: pip install passagemath-gap$"):
            named_group(name)


@pytest.mark.usefixtures("stand_in")
def test_a_group_is_made_of_the_generators_that_gap_gives():
    assert structure(named_group("SmallGroup(6,1)")) == structure(named_group("S3"))
    assert named_group("SmallGroup(1,1)").order == 1
    assert structure(named_group("SmallGroup6_1_x_C2")).derived_series == (12, 3, 1)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("name", "message"),
    [("SmallGroup(6,3)", "there are just 2 groups of size 6"), ("SmallGroup(7,1)", "GAP failed: RuntimeError: out of memory")],
)
def test_what_gap_refuses_is_one_line(name, message):
    with pytest.raises(ValueError, match=message) as error:
        named_group(name)
    assert "\n" not in str(error.value)


@pytest.mark.peers
def test_the_real_library_gives_the_groups_it_names(tmp_path, monkeypatch):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), *PACKAGES]
    subprocess.run(install, check=True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, ours in (
        ("SmallGroup(24,3)", "SL(2,3)"),
        ("SmallGroup(12,3)", "A4"),
        ("SmallGroup(21,1)", "C7:C3"),
        ("SmallGroup(8,4)", "Q8"),
    ):
        theirs = named_group(name)
        assert structure(theirs) == structure(named_group(ours))
        assert len(subgroups(theirs)) == len(subgroups(named_group(ours)))
    with pytest.raises(ValueError, match="there are just 15 groups of size 24"):
        named_group("SmallGroup(24,16)")
