"""time=feature | decay | both: whether a task's time gaps are an input, the decay of memory, or both."""

import pytest
import torch

import train
from mingru.sweep.cell import cell_hash
from tests.composed import composed, tiny


def settled(*overrides):
    config, _ = train.resolve(composed("extractor=none", *overrides))
    return config["time"], [layer.get("decay") for layer in config["stack"]]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task=session_parity", "mixer=signed"], ("feature", [None])),
        (["task=session_parity", "mixer=gru"], ("feature", [None])),
        (["task=session_parity", "mixer=signed", "time=feature"], ("feature", [None])),
        (["task=session_parity", "mixer=signed", "time=decay"], ("decay", ["learnable"])),
        (["task=pendulum", "mixer=givens", "depth=2", "time=both"], ("both", ["learnable"] * 2)),
        (["task=pendulum_images", "mixer=delta", "mixer.decay=fixed"], ("both", ["fixed"])),
        (["task=session_parity", "mixer=signed", "mixer.decay=fixed", "time=decay"], ("decay", ["fixed"])),
        (["task=session_parity", "stack=[signed,{mixer: givens, decay: fixed}]", "time=both"], ("both", [None, "fixed"])),
        (["task=session_parity", "stack=[gru,signed]", "time=both"], ("both", [None, "learnable"])),
        (["task=parity", "mixer=signed"], (None, [None])),
    ],
)
def test_time_is_settled_with_the_layers_that_decay(overrides, expected):
    assert settled(*overrides) == expected


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            ["task=parity", "time=feature"],
            "time=feature: parity has no time gaps; those that have: parity_timestamped, pendulum, pendulum_images, session_parity",
        ),
        (["task=s3", "time=both"], "time=both: s3 has no time gaps"),
        (["task=s3", "mixer.decay=fixed"], "givens.decay=fixed: s3 has no time gaps"),
        (["task=session_parity", "mixer.decay=fixed", "time=feature"], "time=feature: givens.decay=fixed wants time as decay"),
        (["task=session_parity", "mixer=gru", "time=decay"], "time=decay: no layer of [gru] has a decay channel; valid: feature"),
        (["task=session_parity", "mixer=gru_bare", "time=both"], "time=both: no layer of [gru_bare] has a decay channel"),
        (["task=session_parity", "time=always"], "time=always: must be 'feature', 'decay' or 'both'"),
        (["task=session_parity", "mixer.decay=learned"], "givens: decay must be fixed, learnable or null, got 'learned'"),
        (["task=session_parity", "mixer.decay=fixed", "mixer.decay_rate=0.0"], "givens: decay_rate must be above 0"),
        (["task=session_parity", "mixer.decay_rate=0.1"], "givens: decay_rate=0.1 does nothing without decay"),
    ],
)
def test_what_would_do_nothing_or_contradicts_is_refused_in_one_line(overrides, complaint):
    with pytest.raises(ValueError, match=r"\S") as refused:
        train.check(composed("extractor=none", *overrides), train.settings.CONF)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_resolving_twice_changes_nothing():
    for time in ("null", "feature", "decay", "both"):
        once, _ = train.resolve(composed("task=session_parity", "mixer=signed", f"time={time}"))
        assert train.resolve(once)[0] == once


def test_each_use_of_time_is_a_cell_of_its_own_and_a_default_spelled_out_is_not():
    def hashed(*overrides):
        return cell_hash(train.resolve(composed("task=session_parity", "mixer=signed", *overrides))[0])

    cells = [hashed(f"time={time}") for time in ("feature", "decay", "both")]
    assert len(set(cells)) == 3
    assert hashed() == cells[0]
    assert hashed("mixer.decay=learnable") == cells[2]
    assert hashed("mixer.decay_rate=0.05", "time=both") not in cells


def test_the_key_and_the_settings_of_decay_leave_older_cells_where_they_were():
    config, _ = train.resolve(composed("mixer=delta", "task=s3_hier"))
    older = {key: value for key, value in config.items() if key != "time"}
    older["stack"] = [{k: v for k, v in layer.items() if not k.startswith(("decay", "log1p"))} for layer in config["stack"]]
    assert cell_hash(older) == cell_hash(config)
    assert train.resolve(older)[0] == config


@pytest.mark.parametrize("time", ["feature", "decay", "both"])
def test_a_run_trains_and_loads_with_any_use_of_time(tmp_path, time):
    cfg = tiny(tmp_path, "task=session_parity", "mixer=signed", "extractor=none", f"time={time}")
    record = train.run(cfg)
    stack, loaded = train.load_run(next(tmp_path.glob("session_parity/*/s0")))
    assert (record["status"], loaded.time) == ("finished", time)
    assert stack.time_feature == (time != "decay")
    assert (stack.blocks[0].mixer.decay is not None) == (time != "feature")
    tokens, gaps = torch.randint(2, (3, 7)), torch.rand(3, 7)
    logits, _ = stack(tokens, None, gaps)
    assert not torch.equal(logits, stack(tokens, None, 2 * gaps)[0])
