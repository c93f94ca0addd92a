"""A throw-away project: a conf folder with the shapes of the real one, and a train.py that writes what it is given."""

from pathlib import Path

import pytest

CONF = {
    "train.yaml": """
        defaults:
          - _self_
          - task: s3
          - mixer: givens
          - experiment: null
        extractor: none
        stack: null
        length: 64
        seed: 0
        stop: null
        lr: 0.003
        outputs: outputs
        hydra:
          output_subdir: null
          run: {dir: .}
          sweep: {dir: ., subdir: .}
          sweeper: {params: {}}
        """,
    "task/s3.yaml": "name: s3",
    "task/parity.yaml": "name: parity",
    "mixer/givens.yaml": "{name: givens, block_size: 8}",
    "mixer/log.yaml": "name: log",
    "mixer/delta.yaml": "name: delta",
    "experiment/seeds.yaml": """
        # @package _global_
        hydra: {mode: MULTIRUN, sweeper: {params: {seed: 0-2, mixer: "log,givens"}}}
        """,
    "experiment/stacked.yaml": """
        # @package _global_
        stack: [log, givens]
        """,
    "experiment/misnamed.yaml": """
        # @package _global_
        defaults: [{override /mixer: givns}]
        """,
}

SCRIPT = """
import os, sys, time
from pathlib import Path
from mingru import cli
if __name__ == "__main__":
    cli.install()
Path(__file__).with_name("imported").touch()
import hydra
from hydra.core.hydra_config import HydraConfig
def check_one(cfg, conf):
    if cfg.length % 2:
        raise ValueError(f"length={cfg.length}: wanted an even length")
@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg):
    Path(__file__).parent.joinpath("conf", "mixer", "givens.yaml").write_text("{name: edited, block_size: 1}")
    print(cfg.mixer.name, cfg.length, cfg.seed)
if __name__ == "__main__":
    cli.check(check_one)
    main()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's folder; its configs are in `conf`, its script is `train.py`."""
    for name, text in CONF.items():
        write_yaml(tmp_path / "conf" / name, text)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def conf(project: Path) -> Path:
    return project / "conf"


def write_yaml(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = text.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    path.write_text("\n".join(line[indent:] for line in lines) + "\n")
