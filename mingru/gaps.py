"""What a task's time gaps are for in a run: `time=feature | decay | both`."""

from typing import Any


def resolve_time(config: dict[str, Any], timed: bool) -> dict[str, Any]:
    """A resolved config with `time` settled, and with layers that decay where it asks for them.

    feature: log(1 + gap) is an input. decay: it is not, and layers decay by the gap. both: both. null is what the layers say:
    both where one of them decays, else feature. Where `time` asks for decay and no layer's settings do, every layer that has a
    decay channel learns its rates. A task without time gaps has neither.

    ValueError for a word that would do nothing, or that the layers' settings contradict.
    """
    time, stack, task = config.get("time"), config["stack"], config["task"]["name"]
    decaying = [f"{layer['mixer']}.decay={layer['decay']}" for layer in stack if layer.get("decay") is not None]
    if not timed:
        asked = decaying if time is None else [f"time={time}"]
        if asked:
            raise ValueError(
                f"{asked[0]}: {task} has no time gaps; those that have: parity_timestamped, pendulum, pendulum_images, session_parity"
            )
        return config | {"time": None}
    if time is None:
        time = "both" if decaying else "feature"
    if time == "feature" and decaying:
        raise ValueError(f"time=feature: {decaying[0]} wants time as decay; valid: decay, both")
    if time != "feature" and not decaying:
        stack = learning(stack, time)
    named = {key: value for key, value in stack[-1].items() if key != "mixer"} | {"name": stack[-1]["mixer"]}
    return config | {"time": time, "stack": stack, "mixer": named}


def learning(stack: list[dict[str, Any]], time: str) -> list[dict[str, Any]]:
    if not any("decay" in layer for layer in stack):
        names = ", ".join(layer["mixer"] for layer in stack)
        raise ValueError(f"time={time}: no layer of [{names}] has a decay channel; valid: feature")
    return [layer | {"decay": "learnable"} if "decay" in layer else layer for layer in stack]
