"""The step from what a user writes to what a run is made of.

`resolve` turns a composed config into a plain dict in which every layer, length and default is spelled out. It needs the folder of
YAML files because layers are named by their YAML (`extractor=signed`, `stack=[signed,givens]`).
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf
from pydantic import ConfigDict, ValidationError, create_model

from mingru.schema import check_types, explain, nearest

PROJECT = Path(__file__).resolve().parent.parent
CONF = PROJECT / "conf"
HYDRA_KEYS = {"_target_", "_partial_"}
# What a class gets from whoever builds it, and a config does not set: a mixer its widths, a curriculum its run, a schedule its steps.
SUPPLIED = {"self", "d_model", "d_input", "run", "total"}


def project_path(path: str | Path) -> str:
    """An absolute path; a relative one counts from the project's root, wherever the command was started."""
    return str(PROJECT / Path(path).expanduser())


OmegaConf.register_new_resolver("project_path", project_path, replace=True)


def parameters(target: Callable) -> dict[str, inspect.Parameter]:
    """Of what a `_target_` names, what its YAML may set."""
    return {k: p for k, p in inspect.signature(target, eval_str=True).parameters.items() if k not in SUPPLIED}


def bind(target: str, settings: dict[str, Any], where: str) -> dict[str, Any]:
    """`settings` with the defaults of `target`'s signature filled in. ValueError for an unknown key or a wrong type.

    A setting that is itself `{_target_: ..., ...}` is bound in turn; what it makes is not type-checked.
    """
    try:
        signature = parameters(get_object(target))
    except ImportError as error:
        raise ValueError(f"{where}: _target_={target} cannot be imported: {error}".splitlines()[0]) from None
    settings = {k: nested(v, f"{where}.{k}") if is_node(v) else v for k, v in settings.items()}
    fields = {}
    for key, parameter in signature.items():
        untyped = parameter.annotation is parameter.empty or is_node(settings.get(key))
        fields[key] = (Any if untyped else parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
    model = create_model(where, __config__=ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True), **fields)
    try:
        model.model_validate(settings)
    except ValidationError as error:
        raise explain(error, (where,), signature) from None
    return {k: p.default for k, p in signature.items() if p.default is not p.empty} | settings


def is_node(value: Any) -> bool:
    return isinstance(value, dict) and "_target_" in value


def nested(node: dict[str, Any], where: str) -> dict[str, Any]:
    options = {key: value for key, value in node.items() if key not in HYDRA_KEYS}
    return {"_target_": node["_target_"], **bind(node["_target_"], options, where)}


def layer_name(node: dict[str, Any]) -> str:
    """A mixer's or task's name is its YAML's stem, which is its module's name unless the YAML says otherwise."""
    return node.get("name") or node["_target_"].split(".")[-2]


def read_layer(name: str, conf: Path) -> dict[str, Any]:
    """The mixer YAML of that name; ValueError with the nearest names when there is none."""
    file = conf / "mixer" / f"{name}.yaml"
    if not file.is_file():
        raise ValueError(f"mixer {name!r} is unknown{nearest(name, (f.stem for f in file.parent.glob('*.yaml')))}")
    return {"name": name, **OmegaConf.to_container(OmegaConf.load(file), resolve=True)}


def layer(node: dict[str, Any], where: str) -> dict[str, Any]:
    """One layer with every setting: `{mixer: name, _target_: class, setting: value, ...}`."""
    if "_target_" not in node:
        raise ValueError(f"{where}: has no _target_, the class of the mixer")
    settings = {k: v for k, v in node.items() if k not in HYDRA_KEYS | {"name", "mixer"}}
    bound = bind(node["_target_"], settings, where)
    bound.pop("name", None)
    return {"mixer": node.get("mixer") or layer_name(node), "_target_": node["_target_"], **bound}


def build(node: dict[str, Any]) -> Any:
    """What a node with a `_target_` names, nested nodes first, with plain lists and dicts; its own ValueErrors come through."""
    try:
        return instantiate(node, _convert_="all")
    except InstantiationException as error:
        raise (error.__cause__ if isinstance(error.__cause__, ValueError) else error) from None


def instantiable(layer: dict[str, Any]) -> dict[str, Any]:
    """A resolved layer as `build` takes it; a class that wants its mixer's name, for its messages, gets it."""
    node = {key: value for key, value in layer.items() if key != "mixer"} | {"_partial_": True}
    return node | ({"name": layer["mixer"]} if "name" in parameters(get_object(layer["_target_"])) else {})


def layers(config: dict[str, Any], conf: Path = CONF) -> list[dict[str, Any]]:
    """The stack from bottom to top: `stack` outright, or [extractor] + depth * [mixer]."""
    if config["stack"] is not None:
        return [stack_item(item, "stack", conf) for item in config["stack"]]
    extractor = config["extractor"]
    below = extractor if isinstance(extractor, list) else [] if extractor == "none" else [extractor]
    return [stack_item(item, "extractor", conf) for item in below] + [layer(config["mixer"], "mixer")] * config["depth"]


def stack_item(item: str | dict[str, Any], where: str, conf: Path) -> dict[str, Any]:
    if isinstance(item, str):
        item = {"mixer": item}
    if not isinstance(item, dict) or not isinstance(item.get("mixer"), str):
        raise ValueError(f"{where}: {item!r} is neither a mixer's name nor {{mixer: name, setting: value}}")
    known = {} if "_target_" in item else read_layer(item["mixer"], conf)
    return layer({**known, **item}, f"{where}.{item['mixer']}")


def recipe(node: dict[str, Any] | None, where: str) -> dict[str, Any] | None:
    """A curriculum or a schedule with every setting, or None: neither the length nor the rate changes."""
    if node is not None and "_target_" not in node:
        raise ValueError(f"{where}: has no _target_, the class of the {where}")
    return node and nested(node, where)


def is_resolved(stack: list[Any]) -> bool:
    return bool(stack) and all(is_node(item) for item in stack)


def resolve(composed: DictConfig | dict[str, Any], conf: Path = CONF) -> dict[str, Any]:
    """A plain dict without `${}` or nulls that stand for a default; layers in `stack`, names in `mixer` and `extractor`.

    Resolving twice changes nothing. ValueError, one line, for whatever does not fit.
    """
    config = OmegaConf.to_container(composed, resolve=True) if isinstance(composed, DictConfig) else dict(composed)
    config.pop("hydra", None)
    check_types(config)
    given = config["stack"] is not None and not is_resolved(config["stack"])
    if config["stack"] == []:
        raise ValueError("stack=[]: at least one layer is wanted, such as stack=[signed,givens]")
    if given and config["depth"] != 1:
        raise ValueError(f"depth={config['depth']}: a stack names every one of its layers, so it has no depth")
    config["stack"] = layers(config, conf)
    names = [item["mixer"] for item in config["stack"]]
    if given or not isinstance(config["extractor"], str):
        config["extractor"] = "+".join(names[: -config["depth"]]) or "none"
    config["mixer"] = {k: v for k, v in config["stack"][-1].items() if k != "mixer"} | {"name": names[-1]}
    task = config["task"]
    settings = {k: v for k, v in task.items() if k not in HYDRA_KEYS | {"extractor"}}
    config["task"] = {"_target_": task["_target_"], **bind(task["_target_"], {"name": layer_name(task), **settings}, "task")}
    config.setdefault("train_sequences", None)
    for key in ("clip", "published"):
        config.setdefault(key, None)
    for where in ("curriculum", "schedule"):
        config[where] = recipe(config.get(where), where)
    evaluation = config["evaluation"] = {"select_last": False, "every_length": None, **config["evaluation"]}
    evaluation["select_length"] = evaluation["select_length"] or 2 * config["length"]
    evaluation["lengths"] = sorted(set(evaluation["lengths"] or (n * config["length"] for n in (1, 4, 8, 16))))
    return config
