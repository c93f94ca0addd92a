"""How one run of a sweep ended, as its records say."""

from dataclasses import dataclass
from pathlib import Path

from mingru.report import cells
from mingru.report.runs.record import Run
from mingru.sweep import records
from mingru.sweep.claim import is_result
from mingru.sweep.logfile import LOG
from mingru.sweep.request import Request

FINISHED, DIVERGED, FAILED, MISSING = STATUSES = ("finished", "diverged", "failed", "missing")


@dataclass(frozen=True, eq=False)
class Outcome:
    """`missing` is a run without result or failure: killed, stopped or never started. `said` is the error, or what ended it.

    `stratum` says, of a result, among which others the report counts it.
    """

    request: Request
    status: str
    fit: bool = False
    said: str = ""
    stratum: str = ""

    @property
    def has_result(self) -> bool:
        return self.status in (FINISHED, DIVERGED)

    @property
    def log(self) -> Path:
        """The run's log file, or its folder where nothing was logged."""
        log = self.request.directory / LOG
        return log if log.exists() else self.request.directory

    def __str__(self) -> str:
        verdict = ("fits" if self.fit else "does not fit") if self.status == FINISHED else self.status
        return f"{self.request.name}: {verdict}" + (f": {self.said}" if self.said else "")


def outcome(request: Request, said: str = "", raised: bool = False) -> Outcome:
    """What the run's records say, else `said`: what is known of a run that could not leave a record, because it raised or was killed."""
    result = records.read_json(request.directory / records.RESULT)
    failure = records.read_json(request.directory / records.FAILURE)
    for record in filter(None, (result, failure)):
        if is_result(record):
            stratum = cells.stratum_of(Run(record, record["status"], ""))
            return Outcome(request, record["status"], bool(record.get("fit")), stratum=stratum)
        return Outcome(request, FAILED, said=record["error"])
    return Outcome(request, FAILED if raised else MISSING, said=said)
