"""Every task trains for a step with every mixer, and where it has time gaps with every use of them."""

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


def train_a_step(task, mixer, length, time_feature=None, **settings):
    torch.manual_seed(0)
    batch = of_split(task, "train").sample(torch.Generator().manual_seed(0), 2, length)
    entry = {"n_tokens" if task.inputs.kind == "tokens" else "d_input": task.inputs.size}
    entry["time_feature"] = batch.delta_t is not None if time_feature is None else time_feature
    layers = [instantiate(OmegaConf.load(FOLDER / f"{mixer}.yaml"), **settings)]
    stack = Stack(layers, d_model=16, n_outputs=task.targets.size, head=task.head, **entry)
    optimiser = torch.optim.Adam(stack.parameters(), lr=3e-3)
    before = [parameter.detach().clone() for parameter in stack.parameters()]
    logits, _ = stack(batch.inputs, None, batch.delta_t)
    loss, count = loss_sum(logits, batch.targets)
    (loss / count).backward()
    optimiser.step()
    assert torch.isfinite(loss)
    assert all(block.mixer.decay is None or block.mixer.decay.rho.grad.any() for block in stack.blocks)
    moved = [not torch.equal(old, new) for old, new in zip(before, stack.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


@pytest.mark.parametrize("name", PRESETS)
def test_a_task_trains_with_a_mixer(complete, name):
    train_a_step(complete(name), MIXERS[PRESETS.index(name) % len(MIXERS)], LENGTHS.get(name, 16))


@pytest.mark.parametrize("time_feature", [False, True], ids=["decay", "both"])
@pytest.mark.parametrize("mixer", [mixer for mixer in MIXERS if "decay" in OmegaConf.load(FOLDER / f"{mixer}.yaml")])
@pytest.mark.parametrize("name", ["session_parity", "parity_timestamped", "pendulum", "pendulum_images"])
def test_a_task_with_time_gaps_trains_with_every_mixer_that_decays(complete, name, mixer, time_feature):
    train_a_step(complete(name), mixer, 16, time_feature, decay="learnable")


@pytest.mark.slow
@pytest.mark.parametrize("mixer", MIXERS)
@pytest.mark.parametrize("name", PRESETS)
def test_a_task_trains_with_every_mixer(complete, name, mixer):
    train_a_step(complete(name), mixer, LENGTHS.get(name, 16))
