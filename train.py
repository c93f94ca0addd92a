"""Train one run, or a sweep of them: `python train.py mixer=givens task=s3_hier -m seed=0-35`."""

from mingru import cli
from mingru.sweep import worker

# Before the slow imports, so that a typing error answers at once, and a worker whose sweep is gone is gone.
if __name__ == "__main__":
    cli.install()
elif __name__ == "__mp_main__":
    worker.end_with_parent()

import functools
import sys
import warnings
from pathlib import Path
from typing import Any

import hydra
import lightning as L
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from mingru import settings, training
from mingru.schedules import Schedule
from mingru.stack import Stack
from mingru.sweep import records, request
from mingru.sweep.settle import settle
from mingru.tagger import SequenceTagger
from tasks.base import Task
from tasks.curriculum import Curriculum, Run
from tasks.datamodule import StreamDataModule

# A launcher's YAML here bears the name of its plugin's schema on purpose.
warnings.filterwarnings("ignore", message=r"\s*'hydra/launcher/\w+' is validated against ConfigStore schema")


def resolve(cfg: DictConfig | dict[str, Any], conf: Path | None = None) -> tuple[dict[str, Any], Task]:
    """The config with nothing left open, and its task. ValueError for a length that the task cannot have."""
    if conf is None:
        conf = request.conf_folder(HydraConfig.get()) if HydraConfig.initialized() else settings.CONF
    return request.resolve(cfg, conf)


def build_stack(cfg: DictConfig | dict[str, Any]) -> Stack:
    """The untrained stack of a composed or resolved config; its weights follow torch's global generator."""
    return assemble(*resolve(cfg))


def assemble(config: dict[str, Any], task: Task) -> Stack:
    return Stack(
        [settings.build(settings.instantiable(layer)) for layer in config["stack"]],
        d_model=config["d_model"],
        n_outputs=task.targets.size,
        head=task.head,
        mlp_expansion=config["mlp_expansion"],
        time_feature=config["time"] in ("feature", "both"),
        **{"n_tokens" if task.inputs.kind == "tokens" else "d_input": task.inputs.size},
    )


def load_run(directory: str | Path) -> tuple[Stack, DictConfig]:
    """The stack of a finished run with its selected weights, and its resolved config."""
    record = records.read_json(Path(directory) / records.RESULT)
    if record is None or record["status"] != "finished":
        raise ValueError(f"{directory}: holds no finished run (a readable {records.RESULT} with status finished is wanted)")
    stack = build_stack(record["config"])
    stack.load_state_dict(torch.load(Path(directory) / training.WEIGHTS, map_location="cpu", weights_only=True))
    return stack, OmegaConf.create(record["config"])


def check(cfg: DictConfig, conf: Path) -> None:
    """ValueError for a config that could not train: everything is built, the stack on the meta device, and nothing is run."""
    config, task = resolve(cfg, conf)
    data_module(config, task)
    build_schedule(config)
    with torch.device("meta"):
        assemble(config, task)


def run(cfg: DictConfig) -> dict[str, Any]:
    """One run from its config to its record; a run that is already finished is not trained again."""
    torch.set_num_threads(cfg.threads)
    config, task = resolve(cfg)
    on_cpu = config["device"] == "cpu" or not torch.cuda.is_available()
    device = "cpu" if on_cpu else torch.cuda.get_device_name()
    return settle(config, device, functools.partial(measure, config, task))


def data_module(config: dict[str, Any], task: Task) -> StreamDataModule:
    evaluation = config["evaluation"]
    return StreamDataModule(
        task,
        **{key: config[key] for key in ("seed", "length", "batch_size", "steps", "train_sequences")},
        **{key: evaluation[key] for key in ("select_length", "select_sequences", "lengths", "sequences", "every_length")},
        curriculum=build_curriculum(config, task),
    )


def build_curriculum(config: dict[str, Any], task: Task) -> Curriculum | None:
    node = config["curriculum"]
    run = Run(task, **{key: config[key] for key in ("length", "batch_size", "steps", "seed")})
    return None if node is None else settings.build({**node, "_partial_": True})(run)


def build_schedule(config: dict[str, Any]) -> Schedule | None:
    node = config["schedule"]
    return None if node is None else settings.build({**node, "_partial_": True})(config["steps"])


def measure(config: dict[str, Any], task: Task, directory: Path, checkpoint: Path | None, wandb_run: Any) -> dict[str, Any]:
    """Seed, build, fit and test."""
    L.seed_everything(config["seed"], workers=True, verbose=False)
    data, evaluation = data_module(config, task), config["evaluation"]
    regression = task.metric.name == "mse"
    observe = getattr(data.curriculum, "observe", None)
    tagger = SequenceTagger(assemble(config, task), config["lr"], regression, observe, build_schedule(config), config["clip"])
    if config["compile"]:
        training.compile_stack(tagger.stack)
    protocol = training.Protocol(config["steps"], config["device"], evaluation, task.metric.higher_is_better)
    in_sweep = HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN
    show_progress = sys.stderr.isatty() and not in_sweep
    measured = training.train(tagger, data, protocol, directory, wandb_run, checkpoint, show_progress)
    floors = {name: {str(n): getattr(task, name)(n) for n in evaluation["lengths"]} for name in ("chance", "constant")}
    return measured | floors


@hydra.main(version_base="1.3", config_path="conf", config_name="train")
def main(cfg: DictConfig) -> None:
    run(cfg)


if __name__ == "__main__":
    cli.check(check)
    main()
