"""Every task trains for a step with every mixer that can take it."""

from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from mingru.metrics import loss_sum
from mingru.stack import Stack
from tasks.base import of_split
from tests.tasks.conftest import PRESETS, WORDS

FOLDER = Path(__file__).parents[2] / "conf" / "mixer"
MIXERS = sorted(file.stem for file in FOLDER.glob("*.yaml"))
LENGTHS = {"psmnist": 784, "psmnist_bitreversed": 784, "digits": 64, "word_problem_file": WORDS, "selective_copying": 40}


def train_a_step(task, mixer, length):
    torch.manual_seed(0)
    entry = {"n_tokens" if task.inputs.kind == "tokens" else "d_input": task.inputs.size}
    layers = [instantiate(OmegaConf.load(FOLDER / f"{mixer}.yaml"))]
    stack = Stack(layers, d_model=16, n_outputs=task.targets.size, head=task.head, **entry)
    batch = of_split(task, "train").sample(torch.Generator().manual_seed(0), 2, length)
    optimiser = torch.optim.Adam(stack.parameters(), lr=3e-3)
    before = [parameter.detach().clone() for parameter in stack.parameters()]
    logits, _ = stack(batch.inputs)
    loss, count = loss_sum(logits, batch.targets)
    (loss / count).backward()
    optimiser.step()
    assert torch.isfinite(loss)
    moved = [not torch.equal(old, new) for old, new in zip(before, stack.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


def takes(name):
    return name != "compression"


@pytest.mark.parametrize("name", list(filter(takes, PRESETS)))
def test_a_task_trains_with_a_mixer(complete, name):
    train_a_step(complete(name), MIXERS[PRESETS.index(name) % len(MIXERS)], LENGTHS.get(name, 16))


@pytest.mark.slow
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("name", list(filter(takes, PRESETS)))
def test_a_task_trains_with_every_mixer(complete, name, mixer):
    train_a_step(complete(name), mixer, LENGTHS.get(name, 16))
