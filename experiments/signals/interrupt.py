"""Real signals at random moments of real runs: what every solver keeps of its search, and how long
it takes to end.

    python experiments/signals/interrupt.py [--signals 12] [--solvers NAME…] [--seed 0] [--write]

Each run is the command itself, in a copy (fork) of one process that has imported it.  The first is
left alone for as long as its budget allows; into the others a SIGTERM or a SIGINT is sent at a
moment drawn evenly from the time between the beginning of the search and the end of the run.  A run
is kept when its folder has a record with a tree that was verified.  Seconds are of the processor,
from the signal to the end of the search and to the end of the process: a busy machine adds none.
With ``--write`` the table goes to ``signals.csv`` beside this file.
"""

from __future__ import annotations

import argparse
import csv
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.cli.main import main as arboretum
from arboretum.engine import select as engine_select
from arboretum.errors import ArboretumError
from arboretum.runs.folder import read_run

BUDGET = 4.0  # seconds of a search that nobody interrupts
PATIENCE = 120.0  # seconds after which a run that does not end is killed, and lost
TICK = 1.0 / os.sysconf("SC_CLK_TCK")
TABLE = Path(__file__).with_name("signals.csv")
DEEP = "stopping=[standard] stopping.standard.max_depth="
SOLVERS: Mapping[str, str] = {
    "gosdt": "method=gosdt objective.lam=0.001",
    "gosdt, proof": "method=gosdt objective.lam=0.001 solver.proof=proof.gz",
    "gosdt, solved, proof": "method=gosdt objective.lam=0.02 solver.proof=proof.gz",
    "gosdt, depth 4": f"method=gosdt objective.lam=0 {DEEP}4",
    "gosdt, 8 leaves": (
        "method=gosdt objective.lam=0.001 stopping=[standard] stopping.standard.max_leaves=8"
    ),
    "gosdt, two threads": "method=gosdt objective.lam=0.001 solver.threads=2",
    "gosdt, certified": "method=gosdt objective.lam=0.02 certify=true",
    "gosdt_thresholds": "method=gosdt solver=gosdt_thresholds objective.lam=0.001",
    "path": "method=path objective.lam=0.002",
    "path, exact": "method=path objective.lam=0.01 solver.exact=true",
    "rashomon": "method=rashomon objective.lam=0.02",
    "constrained": "method=constrained objective.lam=0.01 solver.increasing=[x0]",
    "fronts, F": "method=fronts objective.lam=0.01",
    "fronts, AUC": "method=fronts objective=auc objective.lam=0.01",
    "regression": f"method=regression objective.lam=0.001 dataset.task=regression {DEEP}4",
    "oblivious": (
        f"method=exact solver=oblivious objective=accuracy objective.lam=0 encoder=tests {DEEP}5"
    ),
    "max_cost": "method=max_cost",
    "front": "method=front solver.curves=true",
    "subtable_dp": "method=subtable_dp",
    "dl8": f"method=dl8 objective.lam=0 {DEEP}3",
    "dl85": f"method=dl85 objective.lam=0 {DEEP}4",
    "osdt": "method=osdt objective.lam=0.01",
    "gosdt_reference": "method=gosdt_reference objective.lam=0.01",
    "rank": "method=rank objective.lam=0.01",
    "binoct": f"method=exact solver=binoct objective=accuracy objective.lam=0 {DEEP}2",
}
"""What is asked, beside the table.  The peers work in processes of their own, which a signal
ends: they have nothing to keep.
"""


@attrs.frozen
class Ended:
    """A run.

    begun, searched, ended : seconds since it was started (wall).
    after : (processor seconds to the end of the search, to the end) since the signal; None where
        the run had ended before.
    """

    begun: float
    searched: float
    ended: float
    after: tuple[float, float] | None


def rows(folder: Path) -> Path:
    """2,000 rows of ten columns of six values; the class is a vote of conjunctions, a tenth of
    them noise.
    """
    draw = np.random.Generator(np.random.PCG64(25))
    x = draw.integers(0, 6, (2000, 10))
    votes = sum(((x[:, k] > 2) & (x[:, k + 1] < 4)).astype(int) for k in range(0, 10, 2))
    y = (votes > 2) ^ (draw.random(2000) < 0.1)
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{k}" for k in range(10)), "y"])
        writer.writerows([*row, int(one)] for row, one in zip(x.tolist(), y.tolist(), strict=True))
    return path


def processor_seconds(pid: int) -> float:
    """Of a process so far, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def child(words: list[str], line: int, said: Path) -> None:
    """Be the command; say on the line when the search begins and ends."""
    found = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(found, 1)
    os.dup2(found, 2)
    own = engine_select.grow_or_tune

    def told(*how: Any) -> Any:
        os.write(line, b"b")
        try:
            return own(*how)
        finally:
            os.write(line, b"e")

    engine_select.grow_or_tune = told
    status = 70
    try:
        status = arboretum(words)
    finally:
        sys.stdout.flush()
        os._exit(status)


def run(words: list[str], said: Path, moment: float | None, number: int) -> Ended:
    """One run; the signal is sent ``moment`` seconds after its search began, where it still runs
    then.
    """
    hear, line = os.pipe()
    start = time.monotonic()
    if (pid := os.fork()) == 0:
        os.close(hear)
        child(words, line, said)
    os.close(line)
    begun = searched = at = None
    before = since = 0.0
    while True:
        left = PATIENCE - (time.monotonic() - start)
        if begun is not None and moment is not None and at is None:
            left = begun + moment - (time.monotonic() - start)
        if not select.select([hear], [], [], max(0.0, left))[0]:
            if at is None and moment is not None and begun is not None:
                at, before = time.monotonic() - start, processor_seconds(pid)
                os.kill(pid, number)
                continue
            os.kill(pid, signal.SIGKILL)
            break
        heard = os.read(hear, 1)
        now = time.monotonic() - start
        if heard == b"b":
            begun = now
        elif heard == b"e":
            searched, since = now, processor_seconds(pid)
        else:
            break
    os.close(hear)
    _, _, used = os.wait4(pid, 0)
    ended = time.monotonic() - start
    begun, searched = begun or ended, searched or ended
    after = (
        None if at is None else (max(0.0, since - before), used.ru_utime + used.ru_stime - before)
    )
    return Ended(begun, searched, ended, after)


def trials(
    name: str, asked: str, table: Path, n: int, seed: int
) -> Iterator[tuple[Ended, bool, bool]]:
    """(run, kept, verified) for each signal that found the run at work."""
    draw, folder = np.random.Generator(np.random.PCG64([seed, *name.encode()])), table.parent
    task = [] if "dataset.task" in asked else ["dataset.task=classification"]
    common = [
        "run",
        "dataset=file",
        f"dataset.path={table}",
        "dataset.target=y",
        *task,
        "split=none",
        "tracker=none",
        f"budget.seconds={BUDGET}",
    ]
    os.chdir(folder)
    whole = run([*common, *asked.split(), "hydra.run.dir=whole"], folder / "said", None, 0)
    try:
        read_run(folder / "whole")
    except ArboretumError:
        print(f"{name}: {(folder / 'said').read_text()[-300:]}", file=sys.stderr)
        return
    for k in range(n):
        where, number = folder / f"run{k}", (signal.SIGTERM, signal.SIGINT)[k % 2]
        moment = float(draw.random()) * (whole.ended - whole.begun)
        (folder / "said").unlink(missing_ok=True)
        found = run(
            [*common, *asked.split(), f"hydra.run.dir={where}"], folder / "said", moment, number
        )
        if found.after is None:
            continue
        try:
            record = read_run(where)
            kept, verified = record.tree is not None, record.verified
        except ArboretumError:
            kept = verified = False
            last = (folder / "said").read_text()[-300:].replace("\n", " ")
            print(
                f"{name}: lost after {moment:.2f} s of {whole.ended - whole.begun:.2f}: {last}",
                file=sys.stderr,
            )
        yield found, kept, verified


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=12)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found: list[tuple[Any, ...]] = [
        (
            "solver",
            "signals",
            "kept",
            "verified",
            "seconds to the end of the search",
            "seconds to the end",
        )
    ]
    for name in given.solvers:
        with tempfile.TemporaryDirectory() as folder:
            each = list(trials(name, SOLVERS[name], rows(Path(folder)), given.signals, given.seed))
            os.chdir("/")
        longest = [max((one.after[k] for one, _, _ in each), default=0.0) for k in (0, 1)]
        found.append(
            (
                name,
                len(each),
                sum(kept for _, kept, _ in each),
                sum(true for _, _, true in each),
                *(f"{one:.2f}" for one in longest),
            )
        )
        print(*found[-1], sep="  ", flush=True)
    if given.write:
        with TABLE.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(found)
    return any(row[1] != row[3] for row in found[1:])


if __name__ == "__main__":
    sys.exit(main())
