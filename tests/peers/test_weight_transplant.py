"""With the published package's weights, our mixers give its outputs and its gradients."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from mingru.mixers.delta import Delta
from mingru.mixers.givens import Givens
from mingru.mixers.log import Log
from mingru.mixers.rotation import Rotation
from mingru.mixers.signed import Signed
from mingru.stack import Stack

pytestmark = pytest.mark.peers

SEED = 11
LEARNED = {"decay": "learnable", "decay_rate": 0.3, "log1p_delta": True}
FIXED = {"decay": "fixed", "decay_rate": 0.3}
# A case, the package's class and settings, and ours.
CASES = {
    "log": ("MinGRU", {}, Log),
    "log with a learned start": ("MinGRU", {"learnable_h0": True}, partial(Log, learnable_h0=True)),
    "signed": ("SignedMinGRU", {}, Signed),
    "signed coupled": ("SignedMinGRU", {"coupled": True}, partial(Signed, coupled=True)),
    "signed with a learned start": ("SignedMinGRU", {"learnable_h0": True}, partial(Signed, learnable_h0=True)),
    "rotation": ("RotationMinGRU", {}, Rotation),
    "rotation of order 5": ("RotationMinGRU", {"snap": [2, 3, 4, 5, 6]}, partial(Rotation, snap=[2, 3, 4, 5, 6])),
    "rotation free": ("RotationMinGRU", {"snap": None}, partial(Rotation, snap=None)),
    "givens": ("GivensMinGRU", {}, Givens),
    "givens of one round": ("GivensMinGRU", {"rounds": 1}, partial(Givens, rounds=1)),
    "givens of 16 channels": ("GivensMinGRU", {"block_size": 16, "rounds": 4}, partial(Givens, block_size=16, rounds=4)),
    "delta": ("DeltaMinGRU", {"nh": 2}, partial(Delta, n_householder=2)),
    "delta of one factor": ("DeltaMinGRU", {}, Delta),
    "delta of 64 elements": (
        "DeltaMinGRU",
        {"n_heads": 1, "nh": 2, "d_k": 8, "d_v": 8},
        partial(Delta, n_heads=1, n_householder=2, d_k=8, d_v=8),
    ),
    "log with decay": ("MinGRU", LEARNED, partial(Log, **LEARNED)),
    "signed with decay": ("SignedMinGRU", LEARNED, partial(Signed, **LEARNED)),
    "signed coupled with decay": ("SignedMinGRU", {"coupled": True, **FIXED}, partial(Signed, coupled=True, **FIXED)),
    "rotation with decay": ("RotationMinGRU", LEARNED, partial(Rotation, **LEARNED)),
    "rotation with fixed decay": ("RotationMinGRU", FIXED, partial(Rotation, **FIXED)),
    "givens with decay": ("GivensMinGRU", LEARNED, partial(Givens, **LEARNED)),
    "delta with decay": ("DeltaMinGRU", {"nh": 2, **LEARNED}, partial(Delta, n_householder=2, **LEARNED)),
    "delta with fixed decay": ("DeltaMinGRU", FIXED, partial(Delta, **FIXED)),
}
STACK_NAMES = [
    (r"^stack\.norm_out\.", "norm."),
    (r"^stack\.", ""),
    (r"\.norm1\.", ".norm."),
    (r"\.norm2\.", ".mlp_norm."),
    (r"\.mlp\.3\.", ".mlp.2."),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """What the package computes, from a throw-away installation of it."""
    folder = tmp_path_factory.mktemp("package")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), "mingru-scans==0.2.0"]
    subprocess.run(install, check=True)
    (folder / "cases.json").write_text(json.dumps({case: row[:2] for case, row in CASES.items()}))
    script = Path(__file__).with_name("reference_ladder.py")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, str(script), "cases.json", "results.pt"], check=True, cwd=folder, env=environment)
    return torch.load(folder / "results.pt", weights_only=True)


def as_ours(theirs, shapes):
    """A mixer's weights, or gradients, under our names: its input layers, in the order they were built in, are one projection."""
    ours = {}
    for kind in ("weight", "bias"):
        layers = [number for name, number in theirs.items() if name.startswith("linear_") and name.endswith(kind)]
        ours[f"projection.{kind}"] = torch.cat(layers)
    for name, number in theirs.items():
        if not name.startswith("linear_"):
            ours[name.replace("h0_pre", "h0").replace("out_proj", "output").replace("rho", "decay.rho")] = number
    return {name: number.reshape(shapes[name].shape) for name, number in ours.items() if number is not None}


def stack_as_ours(theirs, shapes):
    ours, mixers = {}, {}
    for name, number in theirs.items():
        for pattern, replacement in STACK_NAMES:
            name = re.sub(pattern, replacement, name)
        block, inside, rest = name.partition(".mingru.")
        if inside:
            mixers.setdefault(f"{block}.mixer.", {})[rest] = number
        else:
            ours[name] = number
    for prefix, weights in mixers.items():
        inner = {name.removeprefix(prefix): weight for name, weight in shapes.items() if name.startswith(prefix)}
        ours |= {prefix + name: number for name, number in as_ours(weights, inner).items()}
    return ours


def assert_gradients_agree(ours, theirs):
    """To 1e-4 of the largest entry: the package sums in another order, and in log space."""
    assert ours.keys() == theirs.keys()
    for name, gradient in theirs.items():
        largest = float(gradient.abs().max())
        assert largest > 0, name
        torch.testing.assert_close(ours[name], gradient, rtol=1e-4, atol=1e-4 * largest, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("start", ["default", "given"])
@pytest.mark.parametrize("case", CASES)
def test_a_mixer_gives_the_outputs_and_gradients_of_the_package(package, case, start):
    result = package[f"{case} {start}"]
    mixer = CASES[case][2](d_model=64)
    shapes = dict(mixer.named_parameters())
    mixer.load_state_dict(as_ours(result["weights"], shapes))
    x = result["x"].requires_grad_()
    state = None if result["state"] is None else result["state"].view(4, *mixer.state_shape).requires_grad_()
    y, _ = mixer(x, state, result["gaps"])
    torch.testing.assert_close(y, result["y"], rtol=1e-5, atol=1e-5)
    (y * result["probe"]).sum().backward()
    theirs = as_ours(result["gradients"], shapes) | {"x": result["x gradient"]}
    ours = {name: weight.grad for name, weight in shapes.items() if weight.grad is not None} | {"x": x.grad}
    if state is not None:
        theirs["state"] = result["state gradient"].view(state.shape)
        ours["state"] = state.grad
    assert_gradients_agree(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_a_seed_gives_the_weights_of_the_package(package, case):
    torch.manual_seed(SEED)
    ours = dict(CASES[case][2](d_model=64).named_parameters())
    theirs = as_ours(package[f"{case} default"]["weights"], ours)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())


def test_the_stack_gives_the_logits_and_gradients_of_the_package(package):
    result = package["stack"]
    stack = Stack([Signed, Givens], 64, n_outputs=6, n_tokens=6)
    shapes = dict(stack.named_parameters())
    stack.load_state_dict(stack_as_ours(result["weights"], shapes))
    embedded = {}

    def keep(module, inputs, output):
        output.retain_grad()
        embedded["x"] = output

    stack.embed.register_forward_hook(keep)
    logits, _ = stack(result["tokens"])
    torch.testing.assert_close(logits, result["logits"], rtol=1e-5, atol=1e-5)
    F.cross_entropy(logits.flatten(0, 1), result["targets"].flatten()).backward()
    theirs = stack_as_ours(result["gradients"], shapes) | {"embedded": result["embedded gradient"]}
    assert_gradients_agree({name: weight.grad for name, weight in shapes.items()} | {"embedded": embedded["x"].grad}, theirs)


def test_a_seed_gives_the_stack_of_the_package(package):
    torch.manual_seed(SEED)
    ours = dict(Stack([Signed, Givens], 64, n_outputs=6, n_tokens=6).named_parameters())
    theirs = stack_as_ours(package["stack"]["weights"], ours)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], weight) for name, weight in theirs.items())
