"""One token in one kernel against the same token through torch's calls."""

import pytest
import torch

from mingru.mixers import base
from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.rotation import Rotation
from mingru.mixers.signed import Signed

MIXERS = {
    "log": lambda width: Log(width),
    "signed": lambda width: Signed(width),
    "signed, coupled": lambda width: Signed(width, coupled=True),
    "rotation": lambda width: Rotation(width),
    "rotation, free": lambda width: Rotation(width, snap=None),
    "givens": lambda width: Givens(width, block_size=4, rounds=2),
    "delta": lambda width: Delta(width, n_heads=2, n_householder=2, d_k=5, d_v=3),
}


def tokens(mixer, x, state):
    outputs = []
    for x_t in x:
        y_t, state = mixer.step(x_t, state)
        outputs.append(y_t)
    return torch.stack(outputs), state


@pytest.mark.parametrize("width", [4, 12, 64])
@pytest.mark.parametrize("name", MIXERS)
def test_a_token_in_one_kernel_equals_the_token_in_torch(name, width, monkeypatch):
    mixer = MIXERS[name](width)
    x = torch.randn(5, base.FEW, 2 * width)[..., ::2] * 3
    calls = []
    kernel = type(mixer)._token
    monkeypatch.setattr(type(mixer), "_token", lambda *arguments: calls.append(1) or kernel(*arguments))
    with torch.no_grad():
        came = tokens(mixer, x, mixer.init_state(base.FEW))
    wanted = tokens(mixer, x, None)
    assert len(calls) == len(x)
    for ours, theirs in zip(came, wanted, strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-5 * theirs.abs().max().item())


def test_not_a_number_stays_one():
    for name, build in MIXERS.items():
        mixer, x_t = build(8), torch.full((1, 8), torch.nan)
        with torch.no_grad():
            y_t, state = mixer.step(x_t, mixer.init_state(1))
        assert y_t.isnan().all(), name
        assert state.isnan().all(), name


def test_weights_that_change_are_read_anew():
    mixer, x_t = Signed(8), torch.randn(1, 8)
    with torch.no_grad():
        first, _ = mixer.step(x_t, mixer.init_state(1))
        mixer.projection.weight.zero_()
        mixer.projection.bias.zero_()
        second, _ = mixer.step(x_t, mixer.init_state(1))
    assert first.abs().max() > 0
    assert second.abs().max() == 0


def test_what_is_recorded_or_transformed_or_wide_goes_through_torch():
    def outputs(mixer, x_t):
        return mixer.step(x_t, mixer.init_state(2))[0]

    mixer, x_t = Signed(8), torch.randn(2, 8)
    assert outputs(mixer, x_t).requires_grad
    with torch.no_grad():
        batch_of_seeds = torch.vmap(lambda one: outputs(mixer, one))(x_t.expand(3, 2, 8))
        torch.testing.assert_close(batch_of_seeds, outputs(mixer, x_t).expand(3, 2, 8))
        assert outputs(mixer.to("meta"), x_t.to("meta")).is_meta
        assert outputs(Signed(8).double(), x_t.double()).dtype == torch.float64
        with torch.autocast("cpu", torch.bfloat16):
            assert outputs(Signed(8), x_t.bfloat16()).dtype == torch.bfloat16
        with pytest.raises(ValueError, match="negative"):
            Log(8).step(x_t, -torch.ones(2, 8))
