"""What is read from a mixer is what it does."""

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from mingru.analysis.maps import read_flat, read_maps
from mingru.mixers.baselines.gru import GRU
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.settings import CONF
from mingru.stack import Stack

READABLE = ["log", "signed", "signed_coupled", "rotation", "rotation_free", "givens", "reflection", "selection", "selection_bijective"]


@pytest.mark.parametrize("name", READABLE)
def test_maps_applied_token_by_token_are_the_mixer(name):
    mixer = instantiate(OmegaConf.load(CONF / "mixer" / f"{name}.yaml"))(d_model=16).double()
    x = torch.randn(5, 16, dtype=torch.float64)
    linear, drive = read_maps(mixer, x)
    words = torch.randint(5, (3, 9))
    state = mixer.init_state(3).detach().reshape(3, *drive.shape[1:])
    seen = []
    for tokens in words.unbind(1):
        state = (linear[tokens] @ state.unsqueeze(-1)).squeeze(-1) + drive[tokens]
        seen.append(state.flatten(1))
    torch.testing.assert_close(torch.stack(seen, dim=1), mixer(x[words])[0].detach(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("build", [lambda: GRU(16), lambda: Delta(16)])
def test_a_mixer_without_such_maps_is_refused(build):
    with pytest.raises(ValueError, match="its maps cannot be read"):
        read_maps(build().double(), torch.randn(4, 16, dtype=torch.float64))


def test_a_decay_channel_is_refused():
    with pytest.raises(ValueError, match="depends on time gaps"):
        read_maps(Givens(16, decay="fixed").double(), torch.randn(4, 16, dtype=torch.float64))


def test_a_model_of_two_layers_is_refused():
    with pytest.raises(ValueError, match="flat models, of one layer, and this one has 2"):
        read_flat(Stack([Givens, Givens], d_model=16, n_outputs=6, n_tokens=6))
