"""What a command asked for, and how each run of it ended."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mingru.report.numbers import p_value, ratio
from mingru.sweep import records
from mingru.sweep.claim import is_result, is_stale, standing
from mingru.sweep.outcome import FAILED, FINISHED, MISSING, STATUSES, Outcome, outcome
from mingru.sweep.request import Cell, Request

if TYPE_CHECKING:
    from mingru.sweep.significance import Rule, Verdict

NOT_STARTED = "not started"
NOT_RUN = "not run"


class Ledger:
    """The requests of one sweep, each once, and the outcomes that are known.

    `dropped` were requested and are no longer, under `stop=significant`, and why.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = list({request.directory: request for request in requests}.values())
        self.outcomes: dict[Request, Outcome] = {}
        self.rule: Rule | None = None
        self.dropped: dict[Request, Verdict] = {}
        self.before = 0
        self.stale = 0

    def stop_when_significant(self) -> None:
        """Take the seeds in order across all cells, and let `drop` drop. ValueError where there is nothing to compare."""
        # Only here, for scipy takes a second to import.
        from mingru.sweep.significance import Rule

        self.requests.sort(key=lambda request: request.seed)
        self.rule = Rule(self.requests, titles(self.requests))

    def drop(self, waiting: Iterable[Request]) -> dict[Request, "Verdict"]:
        """Those of the waiting runs that are no longer wanted: from now on they were never asked for."""
        dropped = self.rule.unwanted(waiting, self.outcomes) if self.rule else {}
        if dropped:
            self.dropped |= dropped
            self.requests = [request for request in self.requests if request not in dropped]
        return dropped

    def note(self, ended: Outcome) -> None:
        self.outcomes[ended.request] = ended

    def note_standing(self) -> None:
        """The runs that are not to be trained again, because they have a result or have failed before."""
        for request in self.requests:
            record = standing(request.directory, request.cell.config["rerun"])
            if record is not None:
                self.note(outcome(request))
                self.stale += is_result(record) and is_stale(record)
        self.before = len(self.outcomes)

    def pending(self) -> list[Request]:
        return [request for request in self.requests if request not in self.outcomes]

    def close(self) -> None:
        """Every run gets an outcome: those that nothing was heard of are what their records say."""
        for request in self.pending():
            started = (request.directory / records.STARTED).exists()
            self.note(outcome(request, "interrupted" if started else NOT_STARTED))

    @property
    def new_failure(self) -> bool:
        """Whether a run that this sweep started has no result."""
        return any(not ended.has_result for ended in list(self.outcomes.values())[self.before :])

    @property
    def exit_code(self) -> int:
        """0 only when every run that was asked for has a result."""
        return 0 if all(ended.has_result for ended in self.outcomes.values()) and not self.pending() else 1


def titles(requests: Sequence[Request]) -> dict[Cell, str]:
    """What each cell is called; cells that differ only in what their name doesn't say get the hash of their folder."""
    cells = {request.cell: request.directory.parent.name.rpartition("-")[2] for request in requests}
    count = Counter(cell.name for cell in cells)
    return {cell: cell.name if count[cell.name] == 1 else f"{cell.name} ({digits})" for cell, digits in cells.items()}


def cell_rows(ledger: Ledger) -> list[tuple[str, Counter[str]]]:
    """Each cell's title and how many of its runs there are, are done, fit, have a result, and ended how."""
    rows = {cell: (title, Counter()) for cell, title in titles(ledger.requests).items()}
    for request in ledger.requests:
        rows[request.cell][1]["runs"] += 1
    for ended in ledger.outcomes.values():
        count = rows[ended.request.cell][1]
        count.update({ended.status: 1, "done": 1, "fits": int(ended.fit), "results": int(ended.has_result)})
    return list(rows.values())


def shown(path: Path) -> str:
    """A path as one would type it here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def table(ledger: Ledger) -> str:
    """The end of a sweep: every cell, every run that did not finish with its log, what to do about them, the sum."""
    rows = cell_rows(ledger)
    width = max(len("cell"), *(len(title) for title, _ in rows))
    lines = [f"{'cell':{width}}  {'runs':>5}  {'fits':>8}" + "".join(f"  {status:>8}" for status in STATUSES)]
    for title, count in rows:
        fits = f"{count['fits']}/{count['results']}"
        lines.append(f"{title:{width}}  {count['runs']:5}  {fits:>8}" + "".join(f"  {count[status] or '-':>8}" for status in STATUSES))
    lines += dropped_lines(ledger.dropped, titles(ledger.requests))
    return "\n".join([*lines, *trouble_lines(ledger), *hints(ledger), summary(ledger)])


def dropped_lines(dropped: Mapping[Request, "Verdict"], names: Mapping[Cell, str]) -> list[str]:
    """Each cell that needs no more seeds: the seeds it is spared, and the evidence of its last comparison to be decided."""
    verdicts = {request.cell: verdict for request, verdict in dropped.items()}
    lines = []
    for cell in filter(verdicts.get, names):
        verdict, seeds = verdicts[cell], ranges([request.seed for request in dropped if request.cell is cell])
        others = f"all {verdict.comparisons} others, least against " if verdict.comparisons > 1 else ""
        evidence = f"evidence {ratio(verdict.evidence)} ({ratio(verdict.wanted)} wanted) after {counted(verdict.pairs, 'pair')} of seeds"
        lines.append(f"{NOT_RUN:8}  {names[cell]} {seeds}")
        lines.append(f"{'':8}  significant against {others}{verdict.against}: {evidence}, Holm p {p_value(verdict.p_holm)}")
    return lines


def ranges(seeds: Sequence[int]) -> str:
    """`seeds 3, 7-35`."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][1] + 1:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    return f"seed{'s' * (len(seeds) != 1)} " + ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def trouble_lines(ledger: Ledger) -> list[str]:
    """Each run that did not finish and its log; those that were never started only by their number."""
    names = titles(ledger.requests)
    lines, not_started = [], 0
    for ended in sorted(ledger.outcomes.values(), key=lambda ended: STATUSES.index(ended.status)):
        if ended.said == NOT_STARTED:
            not_started += 1
        elif ended.status != FINISHED:
            said = f": {ended.said}" if ended.said else ""
            lines.append(f"{ended.status:8}  {names[ended.request.cell]} seed {ended.request.seed}{said}")
            lines.append(f"{'':8}  {shown(ended.log)}")
    return lines + ([f"{MISSING:8}  {not_started} that were not started"] if not_started else [])


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def hints(ledger: Ledger) -> list[str]:
    """What another command would do about the runs that are not as they should be."""
    count = Counter(ended.status for ended in ledger.outcomes.values())
    lines = [f"{counted(ledger.stale, 'result')} of other code kept; rerun=stale redoes them"] if ledger.stale else []
    lines += ["the same command goes on with the missing"] if count[MISSING] else []
    lines += ["rerun=failed tries the failed again"] if count[FAILED] else []
    return lines + (["without stop=significant the same command goes on with the seeds not run"] if ledger.dropped else [])


def summary(ledger: Ledger) -> str:
    count = Counter(ended.status for ended in ledger.outcomes.values())
    return f"{counted(len(ledger.requests), 'run')}: " + ", ".join(f"{count[status]} {status}" for status in STATUSES)
