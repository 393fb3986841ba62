"""The MLflow UI of a store, in the foreground."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from arboretum.api import TrackerError, sure
from arboretum_mlflow.client import child_environment, last_line
from arboretum_mlflow.location import Location

START_SECONDS = 120.0
"""A start takes 5 to 10 s, and took more than 33 s on a busy machine."""
STOP_SECONDS = 10.0
THEIRS, PAGE = "mlflow.server.fastapi_app:app", "arboretum_mlflow.page:app"


def serve(location: Location, page: str, host: str, port: int) -> None:
    """Run the server until Ctrl-C (or SIGTERM).   page : path of the page to open.

    Raises TrackerError when it cannot start or ends by itself.
    """
    if location.is_server:
        raise TrackerError(
            f"MLflow store {location.shown} is a server already: open {location.shown} in a browser"
        )
    try:
        socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TrackerError(
            f"cannot serve on {host}:{port} ({reason}); choose another port"
        ) from error
    address = f"http://{host}:{port}"
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
        _running(location, host, port, said) as server,
    ):
        # it ends the wait as Ctrl-C does
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            _wait_until_up(server, address, said)
            print(f"MLflow UI: {address}/{page}  (Ctrl-C ends it)", flush=True)
            server.wait()
        except KeyboardInterrupt:
            return
        finally:
            signal.signal(signal.SIGTERM, before)
        raise TrackerError(
            f"the MLflow server ended by itself: {last_line(said)}; is port {port} free?"
        )


@contextmanager
def _running(
    location: Location, host: str, port: int, said: TextIO
) -> Iterator[subprocess.Popen[str]]:
    """Start the server in a group of its own, which ends when this process does, however it
    ends.
    """
    environment = {**child_environment(), "ARBORETUM_SERVER_URI": location.uri}
    command = [sys.executable, "-P", "-m", "arboretum_mlflow.server", host, str(port)]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=said,
        stderr=said,
        env=environment,
        text=True,
        start_new_session=True,
    )
    try:
        yield server
    finally:
        sure(server.stdin).close()  # its signal to end
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_until_up(server: subprocess.Popen[str], address: str, said: TextIO) -> None:
    """Return when the server answers; raises TrackerError where it ends or is too slow."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise TrackerError(f"the MLflow server did not start: {last_line(said)}")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (OSError, urllib.error.URLError):  # not up yet
            time.sleep(0.2)
    raise TrackerError(
        f"the MLflow server was not up after {START_SECONDS:.0f} s: {last_line(said)}"
    )


def _end_with_parent() -> None:
    """Wait for the end of standard input, then end the whole group: this process and the
    server's workers.
    """
    sys.stdin.read()
    os.killpg(0, signal.SIGTERM)


def main() -> None:
    """The server's own process: MLflow's command with the store of this tracker."""
    host, port = sys.argv[1:3]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from mlflow import server
    from mlflow.cli import cli

    # its option --app-name takes installed applications only
    if build := getattr(server, "_build_uvicorn_command", None):
        server._build_uvicorn_command = lambda *a, **k: [
            PAGE if word == THEIRS else word for word in build(*a, **k)
        ]
    # not an argument: a password must not show in the list of processes
    uri = os.environ["ARBORETUM_SERVER_URI"]
    os.environ["MLFLOW_BACKEND_STORE_URI"] = uri
    cli(["server", "--host", host, "--port", port, "--workers", "1"])


if __name__ == "__main__":
    main()
