"""The rows of a W&B run, numbered by training step.

W&B drops a row whose step it has passed, so a run that goes on from a checkpoint logs nothing twice.
"""

import logging
from typing import Any

from lightning.pytorch.loggers import Logger

log = logging.getLogger(__name__)


class WandbMetrics(Logger):
    """Lightning's view of an open W&B run. When W&B breaks, training goes on without it."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.run, self.broken = run, False

    @property
    def name(self) -> str:
        return self.run.project

    @property
    def version(self) -> str:
        return self.run.id

    def log_hyperparams(self, *_: Any) -> None:
        """The run's config holds them from its start."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        if self.broken:
            return
        # A validation is the last of its step, so its row is written now; a run that is killed then has it.
        is_validation = any(key.startswith("validation/") for key in metrics)
        try:
            self.run.log(metrics, step=step, commit=is_validation)
        except Exception as error:
            self.broken = True
            log.warning("W&B: %s: no further metrics are recorded there", str(error) or type(error).__name__)
