"""An interpreter for tests that start the command: like the real one, but what the command
imports is imported already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warm import client

HERE = Path(__file__).parent
SERVER = "server"
"""Name of the socket, beside the interpreter that asks there."""


@contextmanager
def warmed_up() -> Iterator[str]:
    """The path of such an interpreter; the process behind it imports at the first request."""
    with tempfile.TemporaryDirectory() as folder:
        address = Path(folder, SERVER)
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment}
        with subprocess.Popen([sys.executable, HERE / "server.py", address], **pipes) as server:
            server.stdout.readline()  # it listens
            yield stand_in(Path(folder, "python"), address, sys.executable)


def stand_in(path: Path, address: Path, python: str) -> str:
    """Write the file that is called in the place of ``python``; its path."""
    call = f"client.main({str(address)!r}, {python!r}, {client.settings()!r})"
    path.write_text(
        f"#!{python} -IS\nimport sys\nsys.path.insert(0, {str(HERE)!r})\nimport client\n{call}\n"
    )
    path.chmod(0o755)
    return str(path)


def another(python: Path) -> str:
    """The same for an interpreter of another environment; itself where nothing is warmed up."""
    address = Path(sys.executable).with_name(SERVER)
    return (
        stand_in(python.with_name("warm-python"), address, str(python))
        if address.exists()
        else str(python)
    )
