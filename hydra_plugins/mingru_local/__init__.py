"""What Hydra accepts from a package of this name only; the work is done in mingru.sweep, imported when a sweep starts."""

from collections.abc import Sequence

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.utils import JobReturn
from hydra.errors import CompactHydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class LocalLauncher(Launcher):
    def __init__(self, workers: int | None, workers_per_gpu: int) -> None:
        self.workers, self.workers_per_gpu = workers, workers_per_gpu
        self.ledger = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from mingru.sweep import local

        return local.launch(self, job_overrides)


class ResumingSweeper(BasicSweeper):
    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        try:
            super().setup(hydra_context=hydra_context, task_function=task_function, config=config)
        except RuntimeError as error:
            if "Unknown plugin class" not in str(error):
                raise
            launcher = config.hydra.runtime.choices["hydra/launcher"]
            extra = {"submitit_slurm": "slurm"}.get(launcher, launcher)
            raise CompactHydraException(f"hydra/launcher={launcher} is not installed: pip install -e '.[{extra}]'") from None

    def sweep(self, arguments: list[str]) -> None:
        from mingru.sweep import sweeping

        sweeping.sweep(self, arguments)
