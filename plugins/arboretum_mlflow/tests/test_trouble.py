"""A store that cannot be used is said so in one line with the way out, in time, and no finished
run is lost.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import stat
import time

import pytest

from arboretum.api import TrackerError
from arboretum.testing.suites.tracker import sample_record, sample_run
from arboretum_mlflow.client import Client
from arboretum_mlflow.location import locate
from arboretum_mlflow.tracker import MLflowTracker
from arboretum_mlflow.worker import Worker, reply

pytestmark = pytest.mark.slow  # waits for stores that do not answer


@contextlib.contextmanager
def ended(tracker):
    """Close the tracker's process whatever happens."""
    try:
        yield tracker
    finally:
        tracker.close()


def refusal(action) -> str:
    with pytest.raises(TrackerError) as refused:
        action()
    text = str(refused.value)
    assert "\n" not in text
    assert "tracker" in text, "the line names the way out"
    return text


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    (tmp_path / "mlflow.db").write_text("my notes, not a database")
    text = refusal(MLflowTracker(uri=f"sqlite:///{tmp_path}/mlflow.db").prepare)
    assert "is not a SQLite database" in text
    assert (tmp_path / "mlflow.db").read_text() == "my notes, not a database"


def test_a_database_of_something_else_is_left_alone(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base, base:
        base.execute("CREATE TABLE recipes (name TEXT)")
    with ended(MLflowTracker(uri=f"sqlite:///{tmp_path}/mlflow.db")) as tracker:
        assert "a database of something else" in refusal(tracker.prepare)
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_a_folder_in_the_place_of_the_store_is_named(tmp_path):
    (tmp_path / "mlflow.db").mkdir()
    assert "is a folder" in refusal(MLflowTracker(uri=f"sqlite:///{tmp_path}/mlflow.db").prepare)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    text = refusal(MLflowTracker(uri=f"sqlite:///{tmp_path}/file/sub/mlflow.db").prepare)
    assert "cannot be written" in text and f"{tmp_path}/file/sub" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert "cannot be written" in refusal(
            MLflowTracker(uri=f"sqlite:///{tmp_path}/mlflow.db").prepare
        )
    finally:
        tmp_path.chmod(stat.S_IRWXU)


def test_a_store_of_a_newer_mlflow_is_refused_and_unchanged(fresh_store, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base, base:
        base.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")
    with ended(MLflowTracker(uri=fresh_store)) as tracker:
        text = refusal(tracker.prepare)
    assert "newer MLflow made it" in text and "pip install -U mlflow" in text
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base:
        assert base.execute("SELECT version_num FROM alembic_version").fetchall() == [
            ("ffffffffffff",)
        ]


def test_a_locked_store_is_refused(fresh_store, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        text = refusal(MLflowTracker(uri=fresh_store, timeout=1.0).prepare)
    assert "is locked by another process" in text


@pytest.mark.cold
def test_a_store_locked_in_the_middle_of_a_sweep_fails_in_time_and_takes_the_run_later(
    fresh_store, tmp_path, monkeypatch
):
    """SQLite itself would wait 20 s for the lock; the tracker's timeout comes first, and then a
    rest from asking.
    """
    with ended(MLflowTracker(uri=fresh_store, timeout=20.0)) as tracker:
        tracker.prepare()
        tracker.store(sample_run(tmp_path / "0"), sample_record(), {})
    with ended(MLflowTracker(uri=fresh_store, timeout=6.0)) as tracker:
        tracker.prepare()
        with contextlib.closing(
            sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)
        ) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert "did not answer within 6 s" in refusal(
                lambda: tracker.store(sample_run(tmp_path / "1"), sample_record(), {})
            )
            with monkeypatch.context() as now:  # a store that hangs costs one wait, not one per run
                now.setattr(
                    Client, "_send", lambda *request: pytest.fail("asked again while it rests")
                )
                refusal(lambda: tracker.store(sample_run(tmp_path / "2"), sample_record(), {}))
    with ended(MLflowTracker(uri=fresh_store, timeout=20.0)) as tracker:
        first = tracker.store(sample_run(tmp_path / "1"), sample_record(), {})
        assert tracker.store(sample_run(tmp_path / "1"), sample_record(), {}) == first


def test_a_dead_server_is_refused():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = refusal(MLflowTracker(uri=f"http://127.0.0.1:{port}").prepare)
    assert "does not answer (connection refused)" in text


@contextlib.contextmanager
def silent_server():
    """Accepts connections and never says a word.  Yields its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_hangs_is_given_up():
    with silent_server() as address:
        assert "does not answer in time" in refusal(MLflowTracker(uri=address, timeout=1.0).prepare)


def test_a_server_that_hangs_while_a_run_is_sent_is_given_up(tmp_path):
    with silent_server() as address, ended(MLflowTracker(uri=address, timeout=6.0)) as tracker:
        text = refusal(lambda: tracker.store(sample_run(tmp_path), sample_record(), {}))
        assert "did not answer within 6 s" in text


def test_a_deleted_experiment_is_named_with_the_command_that_restores_it(fresh_store, tmp_path):
    with ended(MLflowTracker(uri=fresh_store)) as tracker:
        tracker.prepare()
        tracker.store(sample_run(tmp_path), sample_record(), {})
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base, base:
        base.execute("UPDATE experiments SET lifecycle_stage = 'deleted' WHERE name = 'arboretum'")
    with ended(MLflowTracker(uri=fresh_store)) as tracker:
        text = refusal(lambda: tracker.store(sample_run(tmp_path), sample_record(), {}))
    assert "was deleted" in text and "mlflow experiments restore -x" in text


@pytest.mark.cold
def test_a_process_that_is_killed_is_reported_and_replaced(fresh_store, tmp_path):
    with ended(MLflowTracker(uri=fresh_store)) as tracker:
        tracker.prepare()
        tracker.store(sample_run(tmp_path / "a"), sample_record(), {})
        process = tracker._courier._process
        process.kill()
        process.wait()
        assert tracker.store(sample_run(tmp_path / "b"), sample_record(), {})


@pytest.mark.cold
def test_a_process_that_cannot_start_says_why(fresh_store, monkeypatch):
    tracker = MLflowTracker(uri=fresh_store)
    monkeypatch.setattr(
        "arboretum_mlflow.client.child_environment", lambda: {"PYTHONHOME": "/nowhere"}
    )
    with ended(tracker):
        text = refusal(lambda: tracker._courier.ask("open"))
    assert "ended (" in text


def test_ctrl_c_while_a_run_is_written_leaves_the_write_whole(fresh_store, tmp_path, monkeypatch):
    """The interrupted command then closes its sweep: that request must not get the answer of the
    one before.
    """
    with ended(MLflowTracker(uri=fresh_store)) as tracker:
        sweep = tracker.open_sweep("interrupted", {})

        def interrupted(line, seconds):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("arboretum_mlflow.client.Connection.poll", interrupted)
            with pytest.raises(KeyboardInterrupt):
                tracker.store(sample_run(tmp_path, 0, sweep), sample_record(), {})
        assert tracker.close_sweep(sweep, {}, "KILLED") is None
        with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as base:
            found = base.execute("SELECT name, status FROM runs ORDER BY name").fetchall()
    assert found == [("cart iris seed=0", "FINISHED"), ("interrupted", "KILLED")]


@pytest.mark.cold
def test_a_signal_to_the_whole_group_leaves_the_process_that_closes_the_sweep(fresh_store):
    tracker = MLflowTracker(uri=fresh_store)
    sweep = tracker.open_sweep("a sweep", {})
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        tracker._courier._process.send_signal(number)
    tracker.close_sweep(sweep, {}, "KILLED")
    tracker.close()
    with contextlib.closing(sqlite3.connect(tracker.location.database)) as base:
        assert base.execute("SELECT status FROM runs").fetchall() == [("KILLED",)]


@pytest.mark.cold
def test_an_idle_courier_ends_its_process_with_itself(fresh_store):
    tracker = MLflowTracker(uri=fresh_store)
    courier = Client(tracker.location, "arboretum", 30.0)
    courier.ask("open")
    process = courier._process
    del courier
    assert process.poll() is not None


class Colliding:
    """A worker's writer that another process gets in the way of, a few times."""

    def __init__(self, times: int, error: Exception) -> None:
        self.left, self.error = times, error

    def store(self, entry):
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return "run"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(
            "(sqlite3.IntegrityError) UNIQUE constraint failed: datasets.name, datasets.digest"
        ),
        RuntimeError("(sqlite3.OperationalError) database is locked"),
        RuntimeError(
            '(psycopg.errors.UniqueViolation) duplicate key value violates unique constraint "pk"'
        ),
        RuntimeError("(psycopg.OperationalError) FATAL: the database system is starting up"),
    ],
    ids=["row", "lock", "postgres", "starting"],
)
def test_two_writers_that_meet_try_again_and_a_server_that_starts_is_waited_for(error):
    worker = Worker(None, "arboretum", seconds=10.0)
    worker._writer = Colliding(3, error)
    assert reply(worker, "store", {"entry": {}}) == ("run", "")


def test_an_error_that_is_no_collision_is_reported_at_once():
    worker = Worker(locate("sqlite:///x.db", "arboretum", ""), "arboretum", seconds=10.0)
    worker._writer = Colliding(1, RuntimeError("disk is full"))
    assert "no space left" in reply(worker, "store", {"entry": {}})[1]
    assert worker._writer.left == 0


def test_a_request_goes_on_when_ctrl_c_interrupts_the_wait_and_the_next_one_waits_for_it(
    tmp_path, monkeypatch
):
    class Line:
        """Interrupts the command when it is asked for the first answer, and never gives one."""

        def __init__(self) -> None:
            self.requests, self.waits = [], 0

        def send(self, request) -> None:
            self.requests.append(request)

        def poll(self, seconds: float) -> bool:
            self.waits += 1
            if self.waits == 1:
                signal.raise_signal(signal.SIGINT)
            return False

    client = Client(locate(f"sqlite:///{tmp_path}/mlflow.db", "test"), "test", 60.0)
    client._line = line = Line()
    monkeypatch.setattr(client, "_connection", lambda: line)
    with pytest.raises(KeyboardInterrupt):
        client.ask("first")
    client.seconds = 0.0
    with pytest.raises(TrackerError, match="did not answer within 0 s"):
        client.ask("second")
    assert len(line.requests) == 1


def test_a_store_that_is_left_to_rest_is_asked_again_after_closing(tmp_path, monkeypatch):
    client = Client(locate(f"sqlite:///{tmp_path}/mlflow.db", "test"), "test", 60.0)
    client._resting_until = time.monotonic() + 60.0
    assert "a moment ago" in refusal(lambda: client.ask("open"))
    client.close()
    monkeypatch.setattr(client, "_send", lambda action, arguments: None)
    monkeypatch.setattr(client, "_answer", lambda seconds: ("experiment", ""))
    assert client.ask("open") == "experiment"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FATAL:  the database system is starting up", "is starting; wait a moment"),
        ("server closed the connection unexpectedly", "went away while it worked"),
        ("terminating connection due to administrator command", "went away while it worked"),
    ],
)
def test_a_database_server_that_goes_and_comes_is_said_to(text, said):
    location = locate("postgresql://lab@host/lab", "arboretum", "")
    worker = Worker(location, "arboretum", seconds=0.0)
    worker._writer = Colliding(9, RuntimeError(f"(psycopg.OperationalError) {text}"))
    assert said in reply(worker, "store", {"entry": {}})[1]
