"""The same runs give the same table from run folders, from W&B's offline files and from the W&B service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import wandb

from mingru import tracking
from mingru.report import contents, frame, table
from mingru.report.families import families
from mingru.report.fit_rate import fit_rates
from mingru.report.runs import compare, local, published, wandb_files
from mingru.report.runs.record import ENDED, RunsError, Source
from tests.report.synthetic import config, failure, outcome, started, write
from tests.wandb_server import serve

PROJECT = Path(__file__).resolve().parents[2]


def records():
    """Two cells with a run of every ending; with the ending None where the run was killed."""
    for seed in range(3):
        chosen = config("givens", seed=seed)
        yield started(chosen), outcome(chosen, seed < 2)
    odd = config("log", seed=0, lr=1e-3)
    yield started(odd), outcome(odd, False, status="diverged", accuracy={"64": None, "256": None}, steps_to_fit=None)
    yield started(config("log", seed=1, lr=1e-3)), failure()
    yield started(config("log", seed=2, lr=1e-3)), None


@pytest.fixture
def outputs(tmp_path):
    for record, ending in records():
        write(tmp_path / "outputs", record, ending)
    return tmp_path / "outputs"


def summary(ending):
    """The W&B summary that tracking writes: flags as 0 and 1; wandb adds keys of its own."""
    own = {"_runtime": 1.5, "_step": 16, "_wandb": {"runtime": 1}}
    return own | {key: int(value) if isinstance(value, bool) else value for key, value in (ending or {}).items()}


def text(source: Source) -> str:
    runs = frame.tabulate(source.runs)
    report = contents.contents(source, runs, families(fit_rates(runs), runs))
    return unplaced(table.markdown(report), next(run.origin for run in source.runs if run.status == "failed"))


def unplaced(shown: str, origin: str) -> str:
    """Without the name of the failed run, a folder or a W&B id, and the line breaks that its length moves."""
    return " ".join(shown.split()).replace(origin, "RUN")


@pytest.fixture(scope="module")
def wandb_folder(tmp_path_factory):
    """Offline files written by the real client through the code that training uses."""
    place = tmp_path_factory.mktemp("wandb")
    with_wandb(place, *records())
    return place


def with_wandb(place, *runs):
    """Record (record, ending) pairs, and wait until every file is whole: `finish` returns before its file is closed."""
    for record, ending in runs:
        run = tracking.start(record["config"], record, place)
        if ending is not None and ending["status"] == "failed":
            run.summary.update(ending)
        elif ending is not None:
            tracking.summarise(run, {**record, **ending}, record)
        run.finish(exit_code=int(ending is None or ending["status"] == "failed"))
    wandb.teardown()


def test_offline_files_give_the_same_table_as_the_folders(outputs, wandb_folder):
    offline = wandb_files.read(wandb_folder)
    assert len(offline.runs) == 6
    assert text(offline) == text(local.read(outputs))
    assert compare.differences(offline, local.read(outputs)) == []


def test_the_folders_of_a_sweep_hold_its_offline_files(outputs):
    with_wandb(next(outputs.glob("s3_hier/*/s0")), next(records()))
    assert len(wandb_files.read(outputs).runs) == 1
    assert len(local.read(outputs).runs) == 6


def test_an_offline_file_that_was_cut_short_is_named(wandb_folder, tmp_path):
    whole = next(wandb_folder.rglob("*.wandb")).read_bytes()
    for cut in (0, 7, 100):
        (tmp_path / f"run-{cut}.wandb").write_bytes(whole[:cut])
    (tmp_path / "run-noise.wandb").write_bytes(b"noise")
    source = wandb_files.read(tmp_path)
    assert source.runs == []
    assert len(source.notes) == 4
    assert all("ends before the run's config" in note for note in source.notes)


def test_an_offline_file_without_its_end_is_a_missing_run(wandb_folder, tmp_path):
    # the summary is written when the run ends, long after its config
    content = next(content for file in wandb_folder.rglob("*.wandb") if b'"finished"' in (content := file.read_bytes()))
    (tmp_path / "run-cut.wandb").write_bytes(content[: content.index(b'"finished"')])
    (run,) = wandb_files.read(tmp_path).runs
    assert run.status == "missing"


def test_a_run_with_two_offline_files_is_one_run(wandb_folder, tmp_path):
    record, ending = next(records())
    place = tmp_path / "resumed"
    place.mkdir()
    with_wandb(place, (record, None))
    with_wandb(place, (record, ending))
    (run,) = wandb_files.read(place).runs
    assert run.status == "finished"


@pytest.fixture
def service():
    with serve() as started_service:
        yield started_service


def served(service, repeat=1):
    service.projects["lab/mingru"] = [
        {"id": f"r{i}-{j}", "config": record, "summary": summary(ending)}
        for j in range(repeat)
        for i, (record, ending) in enumerate(records())
    ]


def report(service, *options):
    environment = {**os.environ, "WANDB_MODE": "online", **service.environment}
    command = [sys.executable, "scripts/report.py", "--no-pictures", "--wandb", "lab/mingru", *options]
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.wandb
def test_the_service_gives_the_same_table_as_the_folders(service, outputs, tmp_path):
    served(service)
    done = report(service, "--out", str(tmp_path / "report.md"))
    assert done.returncode == 0, done.stderr
    shown = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert unplaced(shown, "W&B run r4-0") == text(local.read(outputs))


@pytest.mark.wandb
def test_runs_come_in_pages_and_not_one_by_one(service, tmp_path):
    served(service, repeat=100)
    assert report(service, "--out", str(tmp_path / "report.md")).returncode == 0
    assert service.seen.count("runs") == 3


@pytest.mark.wandb
def test_a_server_error_that_passes_is_waited_for(service, tmp_path):
    served(service)
    service.fail("runs", 500)
    assert report(service, "--out", str(tmp_path / "report.md")).returncode == 0


@pytest.mark.wandb
def test_check_names_each_key_that_differs(service, outputs):
    served(service)
    assert report(service, "--check", "--outputs", str(outputs)).returncode == 0
    service.projects["lab/mingru"][0]["summary"]["accuracy"] = {"64": 0.5, "256": 0.9}
    del service.projects["lab/mingru"][1]
    done = report(service, "--check", "--outputs", str(outputs))
    assert done.returncode == 1
    assert "seed 0 attempt 1: accuracy.64 is 0.5 in W&B lab/mingru, 1 in" in done.stdout
    assert "seed 1 attempt 1: in" in done.stdout
    assert "2 differences" in done.stdout


@pytest.mark.wandb
@pytest.mark.parametrize("project", ["lab/none", "nonsense"])
def test_an_unknown_project_is_one_clear_line(service, project):
    served(service)
    done = report(service, "--wandb", project)
    assert done.returncode == 1
    assert done.stderr.startswith(f"report.py: W&B {project}: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_published_file_gives_the_same_table_as_the_folders(tmp_path, outputs):
    """Of the runs that ended, for a file has no others; a hardened run is none of its own."""
    file = tmp_path / "study.jsonl"
    ended = [{**record, **ending} for record, ending in records() if ending is not None and ending["status"] != "failed"]
    hardened = ended[0] | {"cell": "01234567", "hardened": {"cell": ended[0]["cell"]}}
    file.write_text("".join(f"{json.dumps(record)}\n" for record in [*ended, hardened]))
    read = published.read(file)
    assert read.notes == [f"{file}: 1 hardened, which count as no runs of their own"]
    of_folders = Source("folders", [run for run in local.read(outputs).runs if run.status in ENDED])
    rates = [fit_rates(frame.tabulate(source.runs)) for source in (read, of_folders)]
    pd.testing.assert_frame_equal(*(rate.drop(columns="members") for rate in rates))
    assert compare.differences(read, of_folders) == []


@pytest.mark.parametrize(("line", "said"), [("[1]", "line 2 is no record"), ("{", "line 2 is no record")])
def test_a_published_file_with_another_line_is_refused(tmp_path, line, said):
    file = tmp_path / "study.jsonl"
    file.write_text(f"{{}}\n{line}\n")
    with pytest.raises(RunsError, match=said):
        published.read(file)
    with pytest.raises(RunsError, match="no such file"):
        published.read(tmp_path / "none.jsonl")
