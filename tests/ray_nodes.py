"""Nodes of a Ray cluster on loopback addresses, each in a process group, and where wanted in a file
system, of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ENVIRONMENT = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}
"""What a command that uses such a cluster needs, too."""


def may_unshare() -> bool:
    """Whether a process may have a file system of its own here."""
    try:
        return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


def start_node(
    log: Path,
    *words: str,
    host: str,
    hidden: Path | None = None,
    copied: Path | None = None,
) -> subprocess.Popen:
    """Start a Ray node, with one processor.

    hidden : a folder in whose place this node sees an empty one of its own.
    copied : a file that is copied into it.
    """
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    command += [f"--node-ip-address={host}", "--object-store-memory=100000000", *words]
    if hidden is not None:
        copy = '[ -z "$2" ] || cp "$2" "$1"'
        script = f'mount -t tmpfs none "$1" && {{ {copy}; }} && shift 2 && cd / && exec "$@"'
        command = [
            *("unshare", "-m", "sh", "-c", script, "sh", str(hidden), str(copied or "")),
            *command,
        ]
    with log.open("w") as file:
        return subprocess.Popen(
            command,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={**os.environ, **ENVIRONMENT},
        )


def start_head(log: Path, folder: Path, host: str, port: int) -> subprocess.Popen:
    """Start the first node, and wait for it.   folder : for its own files; a short path."""
    words = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
    process = start_node(log, *words, host=host)
    wait_for(lambda: "Ray runtime started" in log.read_text(), 90.0)
    return process


def wait_for(there: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something is there."""
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, "it did not come in time"
        time.sleep(0.05)


def end_group(process: subprocess.Popen) -> None:
    """Kill a node with all that it started: workers have process groups of their own."""
    for pid in (*descendants(process.pid), process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def descendants(pid: int) -> list[int]:
    """Processes that this one started, and those that they started."""
    parents = dict[int, int]()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


SLOW_IMPURITY = '''
"""An impurity that takes its time."""
import time
from pathlib import Path
import attrs
import numpy as np


@attrs.frozen
class Slow:
    """As slow as one likes."""

    kind, name, paper, capabilities, scale = "impurity", "slow", "", (), "mean"

    def value(self, weights):
        Path("growing").touch()
        time.sleep(60)
        return np.zeros(weights.shape[:-1])
'''
"""A plugin: growth takes so long that a command can be ended while it grows."""
