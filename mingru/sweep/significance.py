"""`stop=significant`: which runs of a sweep are no longer wanted, because every comparison of their cell is decided.

The cells of one task, length and protocol are compared as the report compares them, by the always-valid test of
mingru.report.sequential. Every result counts, a diverged run as a non-fit; a failed run is left out, and the next seed of its cell
takes its place. A seed that waits, is at work or was killed hides the later ones of its cell, so that a seed that ends early does not enter
early. Results of other code, another torch or another kind of device are compared among themselves, as in the report.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from mingru.report import cells, sequential
from mingru.report.runs.record import Run
from mingru.sweep import records
from mingru.sweep.outcome import MISSING, Outcome
from mingru.sweep.request import Cell, Request

Fits = tuple[tuple[str, tuple[bool, ...]], ...]


@dataclass(frozen=True)
class Verdict:
    """Why a cell needs no more seeds: all its comparisons are significant. This is the one of least evidence, and what was wanted."""

    against: str
    comparisons: int
    pairs: int
    evidence: float
    wanted: float
    p_holm: float


class Rule:
    """The families of a sweep's cells; `titles` names each cell. ValueError where no two cells can be compared."""

    def __init__(self, requests: Sequence[Request], titles: Mapping[Cell, str]) -> None:
        self._titles = titles
        self._families: dict[tuple[str, int, str], dict[str, list[Request]]] = {}
        for request in sorted(requests, key=lambda request: request.seed):
            self._families.setdefault(family(request.cell), {}).setdefault(titles[request.cell], []).append(request)
        if all(len(arms) < 2 for arms in self._families.values()):
            raise ValueError("stop=significant: no two cells of one task, length and protocol; wanted for example mixer=givens,log")

    def unwanted(self, waiting: Iterable[Request], outcomes: Mapping[Request, Outcome]) -> dict[Request, Verdict]:
        """Those of the waiting runs that no comparison needs any more. A run that was interrupted is wanted: it has been started."""
        decided = self.decided(outcomes)
        found = {request: decided.get(self._titles[request.cell]) for request in waiting} if decided else {}
        return {request: verdict for request, verdict in found.items() if verdict is not None and not interrupted(request)}

    def decided(self, outcomes: Mapping[Request, Outcome]) -> dict[str, Verdict]:
        """The cells whose comparisons are all significant, by their titles."""
        found: dict[str, Verdict] = {}
        for arms in self._families.values():
            ended = {title: in_seed_order(requests, outcomes) for title, requests in arms.items()}
            for stratum in sorted({each.stratum for known in ended.values() for each in known}):
                found |= verdicts(tuple((title, of_stratum(known, stratum)) for title, known in ended.items()))
        return found


def family(cell: Cell) -> tuple[str, int, str]:
    """Task, length and protocol, as the report tells them apart."""
    task, _, protocol = cells.settings_of(Run({"config": cell.config}, MISSING, ""))
    return cells.text(task), cell.config["length"], cells.text(protocol)


def in_seed_order(requests: Sequence[Request], outcomes: Mapping[Request, Outcome]) -> list[Outcome]:
    """The results of one cell up to the first seed that is still to end; `requests` by ascending seed."""
    heard = takewhile(lambda ended: ended is not None and ended.status != MISSING, map(outcomes.get, requests))
    return [ended for ended in heard if ended.has_result]


def of_stratum(outcomes: Sequence[Outcome], stratum: str) -> tuple[bool, ...]:
    return tuple(ended.fit for ended in outcomes if ended.stratum == stratum)


@lru_cache(maxsize=1_024)
def verdicts(fits: Fits) -> dict[str, Verdict]:
    """The cells of one family that are decided, from the fits of each by ascending seed."""
    decision = sequential.decide(dict(fits))
    found = {}
    for title in decision.done:
        own = [pair for pair in decision.pairs if title in (pair.first, pair.second)]
        least = min(own, key=lambda pair: pair.evidence)
        against = least.second if least.first == title else least.first
        found[title] = Verdict(against, len(own), least.n, least.evidence, least.boundary, least.p_holm)
    return found


def interrupted(request: Request) -> bool:
    """Whether the run was started and has not ended."""
    exists = {name: (request.directory / name).exists() for name in (records.STARTED, records.RESULT, records.FAILURE)}
    return exists[records.STARTED] and not exists[records.RESULT] and not exists[records.FAILURE]
