import os
import signal

import lightning as L
import pytest

import train
from mingru import training
from mingru.sweep import interruption, records
from mingru.sweep.interruption import Interrupted
from tests.composed import tiny, without_clock


class Send(L.Callback):
    """Sends this process a signal at the moment `when` of step `step`."""

    def __init__(self, number, when, step):
        self.number, self.when, self.step = number, when, step

    def _send(self, when, trainer):
        if when == self.when and trainer.global_step == self.step:
            os.kill(os.getpid(), self.number)

    def on_train_batch_start(self, trainer, *_):
        self._send("before", trainer)

    def on_validation_batch_start(self, trainer, *_):
        self._send("validating", trainer)

    def on_test_batch_start(self, trainer, *_):
        self._send("testing", trainer)


def interrupt(monkeypatch, cfg, number, when, step):
    make = training.make_trainer
    with monkeypatch.context() as patch:
        sender = Send(number, when, step)
        patch.setattr(training, "make_trainer", lambda protocol, callbacks, *rest: make(protocol, [sender, *callbacks], *rest))
        with pytest.raises(Interrupted) as caught:
            train.run(cfg)
    return caught.value


@pytest.mark.parametrize(
    ("when", "step", "number"),
    [
        ("before", 0, signal.SIGTERM),
        ("before", 1, signal.SIGUSR1),
        ("before", 2, signal.SIGUSR2),
        ("before", 3, signal.SIGINT),
        ("before", 5, signal.SIGHUP),
        ("validating", 2, signal.SIGTERM),
        ("validating", 6, signal.SIGTERM),
        ("validating", 7, signal.SIGUSR1),
        ("testing", 7, signal.SIGTERM),
    ],
)
def test_a_run_that_is_told_to_stop_goes_on_as_if_nothing_had_happened(monkeypatch, tmp_path, when, step, number):
    straight = train.run(tiny(tmp_path / "straight", "steps=7"))
    cut = tiny(tmp_path / "cut", "steps=7")
    directory = records.run_directory(train.resolve(cut)[0])
    before = {each: signal.getsignal(each) for each in interruption.SIGNALS}
    assert interrupt(monkeypatch, cut, number, when, step).code == 128 + number
    assert {each: signal.getsignal(each) for each in interruption.SIGNALS} == before
    assert not (directory / records.FAILURE).exists()
    assert f"stopped by {signal.Signals(number).name}; the same command goes on from here" in (directory / "train.log").read_text()
    resumed = train.run(cut)
    assert without_clock(resumed) == without_clock(straight)
    assert resumed["attempt"] == 1


@pytest.mark.parametrize(("step", "kept"), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
def test_a_run_that_is_told_to_stop_loses_no_step(monkeypatch, tmp_path, step, kept):
    cut = tiny(tmp_path)
    interrupt(monkeypatch, cut, signal.SIGTERM, "before", step)
    steps = []
    monkeypatch.setattr(training.SequenceTagger, "on_train_batch_start", lambda tagger, *_: steps.append(tagger.global_step))
    train.run(cut)
    assert steps == list(range(kept, 6))


def test_a_signal_is_passed_on_once_the_run_is_closed(monkeypatch, tmp_path):
    """As submitit's handler, which puts the job back into the queue, needs it."""
    cut, seen = tiny(tmp_path), []
    directory = records.run_directory(train.resolve(cut)[0])

    def former(number, frame):
        seen.append((number, records.is_locked(directory), (directory / "checkpoint.ckpt").exists()))

    kept = signal.signal(signal.SIGUSR2, former)
    try:
        interrupt(monkeypatch, cut, signal.SIGUSR2, "before", 3)
        assert seen == [(signal.SIGUSR2, False, True)]
        assert signal.getsignal(signal.SIGUSR2) is former
    finally:
        signal.signal(signal.SIGUSR2, kept)


def test_signals_that_are_ignored_stay_ignored():
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruption.listening():
            os.kill(os.getpid(), signal.SIGHUP)
        assert interruption.asked() is None
    finally:
        signal.signal(signal.SIGHUP, kept)


def send_twice(number, reached):
    with interruption.listening(), interruption.deferred():
        os.kill(os.getpid(), number)
        assert interruption.asked() == number
        os.kill(os.getpid(), number)
        reached.append(number)


def test_a_second_ctrl_c_does_not_wait():
    reached = []
    with pytest.raises(Interrupted):
        send_twice(signal.SIGINT, reached)
    assert not reached


def test_another_signal_twice_still_waits():
    """A SIGTERM to a whole process group reaches a worker directly and once more through its parent."""
    reached = []
    with pytest.raises(Interrupted):
        send_twice(signal.SIGTERM, reached)
    assert reached
