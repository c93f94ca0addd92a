"""The measured process, and the script from its command line to its files."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

import pytest

from scripts.benchmarks import machine, peers, run
from scripts.benchmarks import session as session_module
from scripts.benchmarks.measures import Difference, Missing, Quotient, Ratio
from scripts.benchmarks.remote import Held, Worker, WorkError
from scripts.benchmarks.row import at_most
from scripts.benchmarks.session import Options, Session, Work
from scripts.benchmarks.suites import SUITES
from scripts.benchmarks.worker import Server, serve

PROJECT = Path(__file__).resolve().parents[2]
main = runpy.run_path(str(PROJECT / "scripts" / "bench.py"))["main"]
LAYER = {"name": "signed", "batch": 2, "length": 4}


def answers(*requests: dict) -> list[dict]:
    out = io.StringIO()
    serve(io.StringIO("".join(json.dumps(request) + "\n" for request in requests)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def built(name: str = "a", **what) -> dict:
    return {"do": "build", "name": name, "threads": 1, "module": "ours", "function": "layer", "settings": LAYER, **what}


def test_a_workload_is_built_once_and_timed_as_often_as_asked():
    timed = {"do": "time", "name": "a", "threads": 1, "iterations": 3, "warm": 1}
    first, second, third = answers(built(), timed, timed)
    assert first == {"result": None}
    assert second["result"] > 0
    assert third["result"] > 0


def test_an_error_is_one_line_and_the_process_goes_on(capfd):
    wrong = built(settings={**LAYER, "name": "sined"})
    first, second = answers(wrong, built())
    assert first["error"].startswith("ValueError: mixer 'sined' is unknown")
    assert "\n" not in first["error"]
    assert second == {"result": None}


def test_what_was_dropped_is_gone(capfd):
    timed = {"do": "time", "name": "a", "threads": 1, "iterations": 1, "warm": 0}
    assert "error" in answers(built(), {"do": "drop"}, timed)[2]


@pytest.fixture(scope="module")
def worker():
    process = Worker()
    yield process
    process.close()


def test_a_process_of_its_own_answers_and_its_death_is_told(worker):
    worker.ask(**built())
    assert Held(worker, "a", 1).seconds(2, 1) > 0
    with pytest.raises(WorkError, match="ValueError"):
        worker.ask(**built(settings={**LAYER, "name": "sined"}))
    worker._process.kill()
    with pytest.raises(WorkError, match="the process ended with code -9"):
        worker.ask("drop")


class Answering:
    """In place of a worker: each workload has the time, or the error, that its settings say."""

    def ask(self, do: str, **request) -> object:
        if do == "build" and "error" in request["settings"]:
            raise WorkError(request["settings"]["error"])
        if do == "call":
            return request["settings"]["values"]
        return request["iterations"] * float(request["name"].split()[-1].strip("')(]")) if do == "time" else None

    def close(self) -> None:
        pass


def work(**settings) -> Work:
    return Work("none", "none", settings)


@pytest.fixture
def session(monkeypatch):
    with Session(Options(pairs=3)) as session:
        monkeypatch.setattr(session, "_worker", lambda process: Answering())
        yield session


def test_rows_are_ratios_differences_and_what_a_workload_returns(session):
    assert Ratio("a", work(s=0.4), work(s=0.1), scale=0.5).row(session).values == pytest.approx([2.0] * 3)
    assert Ratio("a", work(s=0.4), work(s=0.1), pairs=2).row(session).values == pytest.approx([4.0] * 2)
    difference = Difference("a", work(s=0.4), work(s=0.1)).row(session)
    assert difference.values == pytest.approx([300.0] * 3)
    assert difference.unit == "ms"
    assert Quotient("a", work(values=[1.2, 1.3])).row(session).values == [1.2, 1.3]
    assert Missing("a", "no such file").row(session).note == "no such file"


def test_a_row_that_fails_leaves_the_others_alone(session):
    row = run.measured("steps", Ratio("a", work(error="no C++ compiler"), work(s=0.1), at_most(1)), session)
    assert (row.values, row.note, row.failed, row.reach) == ([], "no C++ compiler", True, at_most(1))


def test_a_busy_machine_is_named_in_one_line(monkeypatch):
    monkeypatch.setattr(machine, "load", lambda: 0.1)
    assert machine.busy() is None
    monkeypatch.setattr(machine, "load", lambda: 3.0 * machine.cores())
    assert "other work is running" in machine.busy()
    assert "\n" not in machine.busy()


def test_idle_refuses_a_busy_machine(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(machine, "load", lambda: 99.0)
    assert main(["states", "--idle", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("bench.py: the load average is 99.0")
    assert not list(tmp_path.iterdir())


def test_peers_that_cannot_be_installed_are_one_line(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(peers, "PACKAGES", ("no-such-package-here==0.0.0", "--no-index"))
    assert main(["streaming", "--peers", "--quick", "--out", str(tmp_path)]) == 1
    assert "bench.py: the peers could not be installed: ERROR: No matching distribution" in capsys.readouterr().err


class InThisProcess:
    """A worker without a process, so that the script can be tested in a second."""

    def __init__(self) -> None:
        self.server = Server()

    def ask(self, do: str, **request) -> object:
        answer = self.server.answer({"do": do, **request})
        if "error" in answer:
            raise WorkError(answer["error"])
        return answer["result"]

    def close(self) -> None:
        pass


def test_a_quick_suite_goes_from_the_command_line_to_its_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(session_module, "Worker", lambda *_: InThisProcess())
    assert main(["states", "--quick", "--pairs", "1", "--threads", "1", "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "states.json").read_text(encoding="utf-8"))
    assert [row["suite"] for row in record["rows"]] == ["states"] * 3
    assert all(row["median"] > 0 and row["threads"] == 1 and row["reach"] is None for row in record["rows"])
    assert {"cpu", "cores", "torch", "numba", "date", "load at start", "load at end"} <= record["machine"].keys()
    assert "givens_scan alone" in (tmp_path / "states.md").read_text(encoding="utf-8")
    assert (tmp_path / "time_against_state.png").is_file()
    assert str(tmp_path / "states.md") in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_runs(suite, tmp_path):
    assert main([suite, "--quick", "--pairs", "1", "--out", str(tmp_path)]) == 0


@pytest.mark.peers
@pytest.mark.parametrize("suite", ["ops", "steps", "lengths", "streaming"])
def test_every_suite_runs_against_the_other_packages(suite, tmp_path):
    assert main([suite, "--quick", "--pairs", "1", "--peers", "--out", str(tmp_path)]) == 0
