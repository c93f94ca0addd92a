"""What a sweep shows while it runs: a live view on a terminal, a line per run elsewhere."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mingru.sweep.ledger import NOT_RUN, Ledger, cell_rows, counted, dropped_lines, shown, titles
from mingru.sweep.outcome import DIVERGED, FAILED, FINISHED, MISSING, Outcome
from mingru.sweep.pace import Pace, Running
from mingru.sweep.request import Request

if TYPE_CHECKING:
    from mingru.sweep.significance import Verdict

# Lines for the runs at work, for what went wrong last, and the fewest for the cells.
MOST_RUNNING = 8
TROUBLES = 3
FEWEST_CELLS = 3


def clock(seconds: float) -> str:
    """4.2 -> "4.2 s", 65 -> "1:05", 3665 -> "1:01:05"."""
    if seconds < 59.5:
        return f"{seconds:.0f} s" if seconds > 9.95 else f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Display:
    """Lines: what will run, then each run as it ends."""

    def __init__(self, ledger: Ledger, workers: int, stream: TextIO) -> None:
        self.ledger, self.pace, self.stream = ledger, Pace(workers), stream
        self.titles = titles(ledger.requests)

    def opening(self) -> str:
        runs, cells = counted(len(self.ledger.requests), "run"), counted(len(self.titles), "cell")
        before = f", {self.ledger.before} of them done before" if self.ledger.before else ""
        return f"{runs} in {cells}{before}; {self.pace.workers} at a time"

    def open(self) -> None:
        self.write(self.opening())

    def write(self, line: str) -> None:
        self.stream.write(line + "\n")
        self.stream.flush()

    def started(self, request: Request) -> None:
        self.pace.started(request)

    def stopping(self, signal_name: str) -> None:
        self.write(f"{signal_name}: nothing more is started; the runs at work make their checkpoints")

    def ended(self, ended: Outcome) -> None:
        took = self.pace.ended(ended.request)
        done, runs = len(self.ledger.outcomes), len(self.ledger.requests)
        words = [f"[{done:{len(str(runs))}}/{runs}] {ended}"]
        words += [shown(ended.log)] if ended.status != FINISHED else []
        words += [] if took is None else [f"took {clock(took)}"]
        left = self.pace.left(self.ledger.pending(), [])
        words += [] if left is None or done == runs else [f"about {clock(left)} left"]
        self.write("; ".join(words))

    def dropped(self, dropped: Mapping[Request, "Verdict"]) -> None:
        self.write("\n".join(dropped_lines(dropped, self.titles)))

    def show(self, running: Sequence[Running], elsewhere: int) -> None:
        """Called several times a second."""

    def close(self) -> None:
        """Called once, whatever happened."""


class LiveDisplay(Display):
    """One picture that is drawn again and again, and is gone at the end."""

    def __init__(self, ledger: Ledger, workers: int, stream: TextIO) -> None:
        super().__init__(ledger, workers, stream)
        self.console = Console(file=stream)
        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.stopped_by = ""

    def open(self) -> None:
        self.live.start()

    def stopping(self, signal_name: str) -> None:
        self.stopped_by = signal_name

    def ended(self, ended: Outcome) -> None:
        self.pace.ended(ended.request)

    def dropped(self, dropped: Mapping[Request, "Verdict"]) -> None:
        """The picture has their number."""

    def show(self, running: Sequence[Running], elsewhere: int) -> None:
        self.live.update(self.picture(running, elsewhere), refresh=True)

    def close(self) -> None:
        self.live.stop()

    def picture(self, running: Sequence[Running], elsewhere: int) -> Group:
        troubles = [ended for ended in self.ledger.outcomes.values() if ended.status != FINISHED][-TROUBLES:]
        listed = running[:MOST_RUNNING]
        room = max(self.console.height - 6 - len(listed) - 2 * len(troubles), FEWEST_CELLS)
        parts = [self.sums(running, elsewhere), self.cells({request.cell for request, _ in running}, room)]
        parts += [Text(f"running {self.titles[request.cell]} seed {request.seed}  {share:.0%}") for request, share in listed]
        for ended in troubles:
            parts += [Text(str(ended), style="red", overflow="ellipsis", no_wrap=True), Text(f"  {shown(ended.log)}", no_wrap=True)]
        return Group(*parts)

    def sums(self, running: Sequence[Running], elsewhere: int) -> Table:
        ledger = self.ledger
        count = Counter(ended.status for ended in ledger.outcomes.values())
        at_work = {request for request, _ in running}
        waiting = [request for request in ledger.pending() if request not in at_work]
        words = [f"{len(ledger.outcomes)}/{len(ledger.requests)} done", f"{len(running)} running"][: 1 + bool(running)]
        words += [f"{count[status]} {status}" for status in (FAILED, DIVERGED, MISSING) if count[status]]
        words += [f"{len(ledger.dropped)} {NOT_RUN}"] if ledger.dropped else []
        words += [f"{elsewhere} with another sweep"] if elsewhere else []
        if self.stopped_by:
            words.append(f"stopping on {self.stopped_by}")
        elif waiting and not running and not elsewhere:
            words.append(f"starting {counted(min(self.pace.workers, len(waiting)), 'worker')}")
        left = self.pace.left(waiting, running)
        gone = f"{clock(self.pace.gone)} gone" + ("" if left is None else f", about {clock(left)} left")
        sums = Table.grid(padding=(0, 2))
        share = len(ledger.outcomes) + sum(share for _, share in running)
        bar = ProgressBar(total=len(ledger.requests), completed=share, width=24)
        sums.add_row(bar, ", ".join(words))
        sums.add_row("", gone)
        return sums

    def cells(self, active: set, room: int) -> Table:
        """The cells at work, then those with something left, then the others, as far as there is room."""
        rows = cell_rows(self.ledger)
        names = {self.titles[cell] for cell in active}
        ranked = sorted(rows, key=lambda row: (row[0] not in names, row[1]["done"] == row[1]["runs"]))
        kept = {title for title, _ in ranked[:room]}
        cells = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        cells.add_column("cell", overflow="ellipsis", no_wrap=True)
        cells.add_column("done", justify="right")
        cells.add_column("fits", justify="right")
        for title, count in rows:
            if title in kept:
                fits = f"{count['fits']}/{count['results']}" if count["results"] else ""
                cells.add_row(title, f"{count['done']}/{count['runs']}", fits)
        if len(rows) > len(kept):
            cells.add_row(f"and {counted(len(rows) - len(kept), 'cell')} more")
        return cells


@contextmanager
def display(ledger: Ledger, workers: int) -> Iterator[Display]:
    """The display that suits standard output."""
    kind = LiveDisplay if sys.stdout.isatty() else Display
    shown = kind(ledger, workers, sys.stdout)
    shown.open()
    try:
        yield shown
    finally:
        shown.close()
