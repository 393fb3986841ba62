"""A sweep on two Ray nodes without a common disk, one of whose workers is killed every so often.

    python experiments/sweeps_on_ray/kills.py FOLDER [--seeds 250] [--every 20]

Starts two nodes of one core on loopback, the second in a mount namespace in which FOLDER is empty
(``unshare -m``), lets ``arboretum run -m`` do 8 × seeds runs of iris there, and counts what is in
the sweep's folder and in MLflow's store.  Needs the extra ``ray``.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

HOST, PORT = "127.0.0.2", 6398
ENVIRONMENT = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
HIDE = 'mount -t tmpfs none "$1" && shift && cd / && exec "$@"'
JOB = "ray::_run_job"
"""What a process is called while it does jobs of Hydra's launcher."""


def start_node(log: Path, *words: str, hidden: Path | None = None) -> subprocess.Popen:
    """Start a node in a process group of its own, and wait until it runs."""
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    command += [f"--node-ip-address={HOST}", "--object-store-memory=100000000", *words]
    if hidden is not None:
        command = ["unshare", "-m", "sh", "-c", HIDE, "sh", str(hidden), *command]
    with log.open("w") as file:
        node = subprocess.Popen(
            command, stdout=file, stderr=file, start_new_session=True, env=ENVIRONMENT
        )
    while "Ray runtime started" not in log.read_text():
        if node.poll() is not None:
            raise SystemExit(log.read_text())
        time.sleep(0.2)
    return node


def workers(nodes: list[subprocess.Popen]) -> list[int]:
    """The processes below these nodes that do jobs now."""
    parent, named = {}, []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent[int(place.name)] = int(
                (place / "stat").read_text().rpartition(")")[2].split()[1]
            )
            if (place / "cmdline").read_bytes().startswith(JOB.encode()):
                named.append(int(place.name))
    roots, found = {node.pid for node in nodes}, []
    for worker in named:
        above = worker
        while above in parent and above not in roots:
            above = parent[above]
        found += [worker] * (above in roots)
    return found


def sweep(nodes: list[subprocess.Popen], folder: Path, seeds: int, every: float) -> int:
    """Do the sweep, killing workers of the nodes; returns how many were killed."""
    words = ["run", "-m", "dataset=iris", "method=cart,id3", "stopping.standard.max_depth=2,4,6,8"]
    words += [f"seed=range({seeds})", "hydra.sweep.dir=s", "hydra/launcher=ray"]
    words += [f"hydra.launcher.ray.init.address={HOST}:{PORT}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "arboretum.cli", *words], cwd=folder, env=ENVIRONMENT
    )
    killed, last, draw = 0, time.monotonic(), random.Random(0)
    while process.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - last >= every and (known := workers(nodes)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(known), signal.SIGKILL)
                killed += 1
            last = time.monotonic()
    return killed


def main() -> None:
    """Print how many runs are kept, and how many of them twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="a new one")
    parser.add_argument("--seeds", type=int, default=250)
    parser.add_argument("--every", type=float, default=20.0, help="seconds")
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    lab = folder / "lab"
    lab.mkdir(parents=True)
    head = start_node(folder / "head.log", "--head", f"--port={PORT}", "--include-dashboard=false")
    second = start_node(folder / "second.log", f"--address={HOST}:{PORT}", hidden=lab)
    began = time.monotonic()
    try:
        killed = sweep([head, second], lab, asked.seeds, asked.every)
    finally:
        for node in (second, head):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(node.pid, signal.SIGKILL)
    runs: collections.Counter[str] = collections.Counter()
    for path in (lab / "s").glob("*/record.json"):
        config = json.loads(path.read_text())["config"]
        runs[json.dumps([config["choices"], config["stopping"], config["seed"]])] += 1
    with contextlib.closing(sqlite3.connect(lab / "mlflow.db")) as store:
        children = [
            key for (key,) in store.execute("select value from tags where key='arboretum.key'")
        ]
    print(f"{8 * asked.seeds} runs, {killed} workers killed, {time.monotonic() - began:.0f} s")
    for where, found in {"folder": runs, "store": collections.Counter(children)}.items():
        twice = sum(n > 1 for n in found.values())
        print(f"in the {where}: {len(found)} runs, {twice} of them twice")


if __name__ == "__main__":
    main()
