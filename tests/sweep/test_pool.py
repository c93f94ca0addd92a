import os
import signal
import subprocess
import sys
import time

import pytest

from mingru.settings import PROJECT
from mingru.sweep.pool import Pool, cause_of_death, was_asked_to


def work(job):
    """One job of a worker: harm to itself, or its process id."""
    if job == "vanish":
        os._exit(0)
    if isinstance(job, signal.Signals):
        os.kill(os.getpid(), job)
    if job == "sleep":
        time.sleep(60)
    return os.getpid()


@pytest.fixture
def pool():
    pool = Pool(work)
    yield pool
    pool.close()


def run(pool, jobs, size=2):
    """Every job's end: `(what, value)`."""
    ends, waiting = {}, list(enumerate(jobs))
    while waiting or len(ends) < len(jobs):
        for worker in pool.idle():
            if waiting:
                number, job = waiting.pop(0)
                pool.give(worker, number, job)
        for _ in range(size - len(pool.workers)):
            pool.start()
        for event in pool.events(timeout=1):
            if event.what == "unstarted":
                waiting.insert(0, (event.job, jobs[event.job]))
            elif event.what in ("done", "died") and event.job is not None:
                ends[event.job] = (event.what, event.value)
    return [ends[number] for number in range(len(jobs))]


def test_workers_are_started_once_and_reused(pool):
    ends = run(pool, ["work"] * 12)
    assert {what for what, _ in ends} == {"done"}
    assert len({process for _, process in ends}) <= 2


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (signal.SIGKILL, "killed by SIGKILL (out of memory?)"),
        (signal.SIGTERM, "killed by SIGTERM"),
        (signal.SIGSEGV, "killed by SIGSEGV"),
        ("vanish", "its worker exited with code 0"),
    ],
)
def test_a_worker_that_dies_at_once_costs_its_own_job_only(pool, harm, said):
    ends = run(pool, ["work", harm, "work", harm, harm, "work"])
    assert [what for what, _ in ends] == ["done", "died", "done", "died", "died", "done"]
    assert {value for what, value in ends if what == "died"} == {said}


def test_a_worker_that_dies_between_two_jobs_costs_nothing(pool):
    run(pool, ["work"])
    os.kill(pool.idle()[0].process.pid, signal.SIGKILL)
    assert [what for what, _ in run(pool, ["work"] * 3)] == ["done"] * 3


@pytest.mark.parametrize(
    ("code", "asked"), [(128 + signal.SIGTERM, True), (128 + signal.SIGINT, True), (-signal.SIGTERM, True), (-9, False), (1, False)]
)
def test_a_worker_was_asked_to_stop_if_it_did_so_or_met_the_signal_at_its_end(code, asked):
    """A process group's signal and the pool's own reach a worker twice: the second may find nobody who waits for it."""
    assert was_asked_to(cause_of_death(code)) == asked


def test_asking_to_stop_ends_the_idle(pool):
    run(pool, ["work"] * 2)
    processes = [worker.process for worker in pool.workers]
    pool.ask_to_stop()
    for process in processes:
        process.join(5)
        assert process.exitcode == -signal.SIGTERM


def test_closing_ends_whoever_is_at_work(pool):
    run(pool, ["work"])
    worker = pool.idle()[0]
    pool.give(worker, 0, "sleep")
    began = time.monotonic()
    pool.close()
    assert not worker.process.is_alive()
    assert time.monotonic() - began < 3


PARENT = """
from tests.sweep.test_pool import work
from mingru.sweep.pool import Pool
if __name__ == "__main__":
    pool = Pool(work)
    for _ in range(2):
        pool.start()
    while len(pool.idle()) < 2:
        pool.events(1)
    pool.give(pool.idle()[0], 0, "sleep")
    print(*[worker.process.pid for worker in pool.workers], flush=True)
    while True:
        pool.events(60)
"""


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_workers_end_within_two_seconds_of_their_parents_death(tmp_path, death):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    parent = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True)
    workers = [int(process) for process in parent.stdout.readline().split()]
    assert len(workers) == 2
    assert all(map(alive, workers))
    parent.send_signal(death)
    parent.wait()
    time.sleep(2)
    assert not any(map(alive, workers))
