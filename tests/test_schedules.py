"""Learning-rate schedules and gradient clipping: what the optimiser gets, and that a killed run goes on with the same rate."""

import math
import re

import pytest
import torch

import train
from mingru.schedules import cosine, hold_then_linear
from mingru.tagger import SequenceTagger
from tests.composed import composed, tiny, without_clock
from tests.test_training import interrupt


@pytest.fixture
def rates(monkeypatch):
    """The rate of every step, as the optimiser has it."""
    seen, make = [], SequenceTagger.configure_optimizers

    def configure(tagger):
        made = make(tagger)
        optimizer = made[0][0] if isinstance(made, tuple) else made
        optimizer.register_step_pre_hook(lambda optimizer, *_: seen.append(optimizer.param_groups[0]["lr"]))
        return made

    monkeypatch.setattr(SequenceTagger, "configure_optimizers", configure)
    return seen


def test_a_rate_that_is_held_falls_linearly_to_zero_at_the_end():
    factors = [hold_then_linear(10, share=0.4)(step) for step in range(10)]
    assert factors == pytest.approx([1, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25])
    assert hold_then_linear(10, share=0.4)(10) == 0


def test_a_cosine_rises_linearly_and_falls_to_its_floor():
    factor = cosine(100, warmup=0.1, floor=0.2)
    assert [factor(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1])
    assert factor(10) == 1
    assert factor(55) == pytest.approx(0.6)
    assert factor(100) == pytest.approx(0.2)
    assert all(later < sooner for sooner, later in zip(map(factor, range(10, 100)), map(factor, range(11, 101)), strict=True))
    assert cosine(4)(2) == pytest.approx((1 + math.cos(math.pi / 2)) / 2)


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ("constant", [1, 1, 1, 1, 1, 1]),
        ("hold_then_linear", [1, 1, 1, 1, 1, 1 / 1.8]),
        ("cosine", [(1 + math.cos(math.pi * n / 6)) / 2 for n in range(6)]),
    ],
)
def test_the_optimiser_gets_the_rate_of_its_step(tmp_path, rates, schedule, factors):
    train.run(tiny(tmp_path, f"schedule={schedule}", "lr=0.01"))
    assert rates == pytest.approx([0.01 * factor for factor in factors])


@pytest.mark.parametrize("step", [1, 3, 5])
def test_an_interrupted_run_goes_on_with_the_rate_it_had(monkeypatch, tmp_path, rates, step):
    settings = ("schedule=cosine", "clip=0.1")
    straight = train.run(tiny(tmp_path / "straight", *settings))
    expected = [*rates]
    rates.clear()
    cut = tiny(tmp_path / "cut", *settings)
    interrupt(monkeypatch, cut, step, save=True)
    assert without_clock(train.run(cut)) == without_clock(straight)
    assert rates[-(6 - step) :] == expected[step:]


def test_clipping_shortens_the_gradient_of_all_weights_to_its_norm(tmp_path, monkeypatch):
    norms, step = [], torch.optim.Adam.step

    def recorded(optimizer, closure=None):
        weights = [weight for group in optimizer.param_groups for weight in group["params"] if weight.grad is not None]
        norms.append(torch.cat([weight.grad.flatten() for weight in weights]).norm().item())
        return step(optimizer, closure)

    monkeypatch.setattr(torch.optim.Adam, "step", recorded)
    train.run(tiny(tmp_path))
    free = [*norms]
    norms.clear()
    bound = min(free) / 2
    train.run(tiny(tmp_path, f"clip={bound}"))
    assert norms == pytest.approx([bound] * len(norms), rel=1e-4)
    assert len(norms) == len(free)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["clip=0.0"], "clip=0.0: must be greater than 0"),
        (["schedule=hold_then_linear", "schedule.share=1.5"], "schedule: share must be above 0 and at most 1, got 1.5"),
        (["schedule=cosine", "schedule.warmup=1.0"], "schedule: warmup must lie in"),
        (["schedule=cosine", "+schedule.floors=0.5"], "schedule.floors: no such key (did you mean floor?)"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_trains(overrides, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        train.check(composed(*overrides), train.settings.CONF)
