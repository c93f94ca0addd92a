"""Tasks as their YAML files in conf/task define them."""

from pathlib import Path

import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf


@pytest.fixture
def task_folder():
    return Path(__file__).parents[2] / "conf" / "task"


@pytest.fixture
def preset(task_folder):
    def build(name):
        node = OmegaConf.load(task_folder / f"{name}.yaml")
        node.pop("extractor")
        return instantiate(node, _convert_="all")

    return build
