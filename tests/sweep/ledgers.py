"""Sweeps on paper: requests and their outcomes, without runs."""

from pathlib import Path

from mingru.sweep import records
from mingru.sweep.ledger import Ledger
from mingru.sweep.outcome import Outcome, outcome
from mingru.sweep.request import Cell, Request


def config(outputs: Path, mixer: str = "log", length: int = 8, lr: float = 0.1) -> dict:
    return {
        "task": {"name": "s3"}, "stack": [{"mixer": mixer}], "length": length, "lr": lr, "outputs": str(outputs), "seed": 0, "rerun": None,
    }  # fmt: skip


def requests(outputs: Path, seeds: int, **settings) -> list[Request]:
    cell = Cell(composed=None, config=config(outputs, **settings))
    return [Request((f"seed={seed}",), cell, seed) for seed in range(seeds)]


def end(request: Request, status: str = "finished", fit: bool = False, said: str = "") -> Outcome:
    """Write the record of a run that ended so, and read it as a sweep does."""
    request.directory.mkdir(parents=True, exist_ok=True)
    records.write_json(request.directory / records.STARTED, {"attempt": 1})
    if status in ("finished", "diverged"):
        records.write_json(request.directory / records.RESULT, {"status": status, "fit": fit, "attempt": 1})
    if status == "failed":
        records.write_json(request.directory / records.FAILURE, {"error": said, "attempt": 1})
    return outcome(request, said)


def ledger(*groups: list[Request]) -> Ledger:
    return Ledger([request for group in groups for request in group])
