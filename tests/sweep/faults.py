"""A mixer that does harm: for the seeds that the environment names, in the middle of training, in the way it names.

    FAULTS='{"3": "raise", "7": "SIGKILL"}'    python train.py mixer._target_=tests.sweep.faults.Faulty ...

The environment is no part of a cell, so that the same runs can be had with and without their faults.
"""

import errno
import json
import logging
import os
import signal
import sys
import time

import torch

from mingru.mixers.signed import Signed

VARIABLE = "FAULTS"
# The training step at which a fault strikes.
STEP = 3
# What the log says from then on.
UNDER_WAY = "under way"


def strike(fault: str) -> None:
    if fault.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, fault))
    elif fault == "raise":
        raise RuntimeError("boom")
    elif fault == "memory":
        raise MemoryError("no room for 9 EiB")
    elif fault == "disk":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    elif fault == "exit":
        sys.exit(3)
    elif fault == "vanish":
        os._exit(0)
    elif fault.startswith("sleep"):
        time.sleep(float(fault.removeprefix("sleep ")))


class Faulty(Signed):
    """The signed mixer, harmful for some seeds. The seed is the one that torch was given just before the stack was built."""

    def __init__(self, d_model: int, name: str = "faulty") -> None:
        super().__init__(d_model, name=name)
        self.fault = json.loads(os.environ.get(VARIABLE, "{}")).get(str(torch.initial_seed()))
        self.calls = 0

    def _mix(self, x, state):
        y, last = super()._mix(x, state)
        self.calls += self.training
        if self.fault == "nan":
            return y * float("nan"), last
        if self.fault and self.training:
            if self.calls == STEP:
                logging.getLogger(__name__).warning(UNDER_WAY)
            if self.calls == STEP or self.fault.startswith("sleep"):
                strike(self.fault)
        return y, last
