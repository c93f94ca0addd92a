"""Exact representations next to given states, and what they represent."""

import pytest
import torch

from mingru.analysis.orbit import nearest_orbit
from mingru.analysis.representation import largest_violation, represents, restricted
from tests.analysis.models import permutations, sign_and_plane, table_of


def orbit_of(maps, start, size, noise=0.0):
    states = torch.zeros(len(maps), size, dtype=torch.float64)
    states[:, : maps.shape[1]] = (maps @ start).squeeze(-1)
    return states + 3 + noise * torch.randn(states.shape, dtype=torch.float64)


def test_the_plane_of_s3_is_irreducible_and_faithful():
    found = represents(sign_and_plane()[1])
    assert found.norm == pytest.approx(1)
    assert found.image == "faithful"


def test_the_sign_of_s3_has_a_kernel_of_three():
    found = represents(sign_and_plane()[0])
    assert (found.kernel, found.image) == (3, "a quotient of order 2")
    assert found.norm == pytest.approx(1)


def test_maps_that_do_nothing_represent_nothing():
    assert represents(torch.eye(4, dtype=torch.float64).expand(6, 4, 4)).image == "nothing"


@pytest.mark.parametrize("group", ["S3", "A4", "C5", "Q8"])
def test_an_orbit_is_exact_however_noisy_the_states(group):
    table = table_of(group)
    maps = permutations(table)
    states = orbit_of(maps, torch.randn(len(table), 1, dtype=torch.float64), len(table) + 1, noise=0.3)
    orbit = nearest_orbit(states.unsqueeze(0), table)
    assert largest_violation(orbit.maps, table) < 1e-13
    moved = (orbit.maps.unsqueeze(1) @ (orbit.states[0] - orbit.centre).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(moved, (orbit.states[0] - orbit.centre)[table], rtol=0, atol=1e-13)
    torch.testing.assert_close(orbit.maps @ orbit.maps.mT, torch.eye(states.shape[1], dtype=torch.float64).expand_as(orbit.maps))


def test_exact_states_are_left_where_they_are():
    table, (_, plane) = table_of("S3"), sign_and_plane()
    states = orbit_of(plane, torch.tensor([[1.0], [0.3]], dtype=torch.float64), 4)
    orbit = nearest_orbit(states.unsqueeze(0), table)
    torch.testing.assert_close(orbit.states[0], states, rtol=0, atol=1e-13)
    assert orbit.dims == [2]
    assert orbit.kept == pytest.approx(1)
    assert represents(restricted(orbit.maps, orbit.states[0])).norm == pytest.approx(1)


def test_what_does_not_fit_into_a_block_is_left_out():
    """The regular representation of A4 without the trivial part has 3 + 3 + 3 + 2 dimensions."""
    table = table_of("A4")
    states = orbit_of(permutations(table), torch.randn(12, 1, dtype=torch.float64), 12) @ torch.randn(12, 8, dtype=torch.float64)
    orbit = nearest_orbit(states.unsqueeze(0), table)
    assert sum(orbit.dims) <= 8
    assert set(orbit.dims) <= {2, 3}
    assert 0 < orbit.kept < 1


def test_states_that_are_all_one_give_no_representation():
    orbit = nearest_orbit(torch.ones(1, 6, 4, dtype=torch.float64), table_of("S3"))
    assert (orbit.dims, orbit.kept) == ([], 0)
    torch.testing.assert_close(orbit.states[0], torch.ones(6, 4, dtype=torch.float64))


def test_the_largest_violation_is_the_largest_of_all_pairs():
    table, maps = table_of("S3"), torch.linalg.qr(torch.randn(6, 3, 3, dtype=torch.float64))[0]
    all_pairs = [torch.linalg.matrix_norm(maps[table[x, y]] - maps[x] @ maps[y], ord=2) for x in range(6) for y in range(6)]
    assert largest_violation(maps, table) == pytest.approx(float(max(all_pairs)))
