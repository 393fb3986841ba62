"""Signals wait until a solver looks up; a second one, and one that nobody has heard for long, do
not.
"""

from __future__ import annotations

import signal
import threading

import pytest

from arboretum.engine import interruptions
from arboretum.engine.interruptions import hold_signals
from arboretum.interfaces.method import Context


def send(number=signal.SIGINT):
    signal.raise_signal(number)


def test_a_signal_waits_for_a_word_of_progress():
    said = []

    def after(found, work):
        return found

    with hold_signals(True) as signals:
        context = signals.heard_by(Context(progress=lambda *what: said.append(what)), after)
        send()
        with pytest.raises(KeyboardInterrupt):
            context.progress(0, None, "looks up")
        context.progress(1, None, "heard once")
    assert len(said) == 2 and context.after is after and signals.ended is None


def test_one_that_comes_when_nobody_looks_up_any_more_is_told_at_the_end():
    with hold_signals(True) as signals:
        send()
    assert isinstance(signals.ended, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_interrupts_at_once():
    with pytest.raises(KeyboardInterrupt), hold_signals(True):
        send()
        send()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_one_that_is_not_heard_for_long_interrupts_wherever_the_work_stands(monkeypatch):
    monkeypatch.setattr(interruptions, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt), hold_signals(True):
        send()
        threading.Event().wait(60)


def test_nothing_is_held_where_no_solver_works_and_in_other_threads():
    with pytest.raises(KeyboardInterrupt), hold_signals(False):
        send()
    found = []

    def work():
        with hold_signals(True) as signals:
            found.append(signals.before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [{}]
