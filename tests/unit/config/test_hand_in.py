"""A sweep's runs are stored while the next one is computed."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from arboretum.config.execute import Session
from arboretum.errors import TrackerError


def test_the_next_run_does_not_wait_for_the_store_but_the_next_request_does():
    session, stored, done = Session(SimpleNamespace(owners=())), threading.Event(), []

    def store() -> None:
        assert stored.wait(60)
        done.append("stored")

    assert session.ask("tracker", store, beside=True) == ""
    done.append("computed")  # comes back before the store has it
    stored.set()
    assert session.ask("tracker", lambda: done.append("asked")) == ""
    assert done == ["computed", "stored", "asked"]


def test_what_went_wrong_beside_a_run_is_told_with_the_next_one():
    session = Session(SimpleNamespace(owners=()))

    def fail() -> None:
        raise TrackerError("store is locked")

    assert session.ask("tracker", fail, beside=True) == ""
    assert session.ask("tracker", lambda: None, beside=True) == "store is locked"
    assert session.ask("tracker", lambda: None, beside=True) == ""
