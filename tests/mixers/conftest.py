"""Every mixer that conf/mixer names, found by itself: a new YAML is under the whole contract from its first day."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

FOLDER = Path(__file__).parents[2] / "conf" / "mixer"


@pytest.fixture(params=sorted(path.stem for path in FOLDER.glob("*.yaml")))
def stem(request):
    return request.param


@pytest.fixture
def path(stem):
    return FOLDER / f"{stem}.yaml"


@pytest.fixture
def build(path):
    """Called with d_model, as a block calls it."""
    return instantiate(OmegaConf.load(path))


@pytest.fixture
def mixer(build):
    return build(d_model=16).double()
