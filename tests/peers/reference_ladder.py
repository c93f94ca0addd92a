"""Runs the published ladder (mingru-scans 0.2.0) in a process of its own, because its import name is ours too.

    python reference_ladder.py CASES.json RESULTS.pt

CASES.json maps a case to a mixer's class and settings. RESULTS.pt holds, for every case and for the [signed, givens]
stack, the weights that a seed gives, an input, and the outputs and gradients that follow from them.
"""

import json
import sys

import torch
from torch import nn

import mingru

SEED, BATCH, LENGTH, WIDTH, N_TOKENS = 11, 4, 64, 64, 6


def numbers(module):
    return {name: weight.detach().clone() for name, weight in module.state_dict(keep_vars=True).items() if weight.requires_grad}


def gradients(module):
    return {name: weight.grad for name, weight in module.named_parameters()}


def run_mixer(kind, settings, start):
    torch.manual_seed(SEED)
    mixer = getattr(mingru, kind)(WIDTH, WIDTH, **settings)
    x = torch.randn(BATCH, LENGTH, WIDTH, requires_grad=True)
    size = mixer.n_heads * mixer.d_k * mixer.d_v if kind == "DeltaMinGRU" else WIDTH
    state = torch.rand(BATCH, 1, size).requires_grad_() if start == "given" else None
    probe = torch.randn(BATCH, LENGTH, WIDTH)
    gaps = 3 * torch.rand(BATCH, LENGTH) if settings.get("decay") else None
    y = mixer(x, state, gaps)
    (y * probe).sum().backward()
    return {
        "weights": numbers(mixer),
        "x": x.detach(),
        "state": None if state is None else state.detach(),
        "probe": probe,
        "gaps": gaps,
        "y": y.detach(),
        "gradients": gradients(mixer),
        "x gradient": x.grad,
        "state gradient": None if state is None else state.grad,
    }


def run_stack():
    torch.manual_seed(SEED)
    parts = {"embed": nn.Embedding(N_TOKENS, WIDTH)}
    parts["stack"] = mingru.MinGRUStack(WIDTH, WIDTH, 2, mixer=["signed", "givens"])
    parts["head"] = nn.Linear(WIDTH, N_TOKENS)
    model = nn.ModuleDict(parts)
    tokens = torch.randint(0, N_TOKENS, (BATCH, LENGTH))
    targets = torch.randint(0, N_TOKENS, (BATCH, LENGTH))
    embedded = model["embed"](tokens)
    embedded.retain_grad()
    logits = model["head"](model["stack"](embedded)[0])
    nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).backward()
    return {
        "weights": numbers(model),
        "tokens": tokens,
        "targets": targets,
        "logits": logits.detach(),
        "gradients": gradients(model),
        "embedded gradient": embedded.grad,
    }


def main(cases, results):
    if mingru.__version__ != "0.2.0":
        raise SystemExit(f"expected mingru-scans 0.2.0, imported {mingru.__version__} from {mingru.__file__}")
    torch.set_num_threads(1)
    with open(cases) as file:
        mixers = json.load(file)
    runs = {
        f"{case} {start}": run_mixer(kind, settings, start) for case, (kind, settings) in mixers.items() for start in ("default", "given")
    }
    torch.save({**runs, "stack": run_stack()}, results)


if __name__ == "__main__":
    main(*sys.argv[1:])
