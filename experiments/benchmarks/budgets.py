"""What fits take that are asked to end: every solver on every table, seconds or megabytes asked and
taken.

    ARBORETUM_DATA=… ARBORETUM_BENCH=… python experiments/benchmarks/budgets.py
        [--solvers NAME…] [--tables NAME…] [--to FILE] [--memory] [--again SECONDS]

The clock that a fit looks at is its processor time here, so that a busy machine does not lend it
time that it does not use.  A process reads one table after the other, encodes it and loads the
kernels for one solver after the other, then one fit is timed in processor seconds
(``time.process_time``, all threads); one that takes more than asked is timed once more, its kernels
loaded for certain, and the lesser counts.  ``--memory`` asks for megabytes instead, and traces what
a fit allocates (the bytes of its arrays at most; tracing makes it slower, so that seconds are left
out).  ``--again`` measures once more the lines of the file that took more than so many seconds, or
more than the megabytes asked, and keeps the others.  With STACKS in the environment a fit that is
late says where it is.
"""

from __future__ import annotations

import argparse
import csv
import faulthandler
import functools
import gzip
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

SECONDS, MEGABYTES, PATIENCE = 1.0, 200, 300
"""Asked of every fit; processor seconds after which a solver that does not come back from one
table is ended.
"""
HERE = Path(__file__).resolve().parent
LIMITED = {"stopping": ["standard"], "stopping.standard.max_depth": 4}
SOLVERS: Mapping[str, Mapping[str, object]] = {
    "gosdt": {"method": "gosdt", "objective.lam": 0.01},
    "gosdt, depth 4": {"method": "gosdt", "objective.lam": 0.0, **LIMITED},
    "gosdt, 6 leaves": {
        "method": "gosdt",
        "objective.lam": 0.001,
        "stopping": ["standard"],
        "stopping.standard.max_leaves": 6,
    },
    "gosdt, two threads": {"method": "gosdt", "objective.lam": 0.0005, "solver.threads": 2},
    "gosdt_thresholds": {"method": "gosdt", "solver": "gosdt_thresholds", "objective.lam": 0.0005},
    "gosdt, raw, depth 3": {
        "method": "gosdt",
        "encoder": "raw",
        "objective.lam": 0.0,
        **LIMITED,
        "stopping.standard.max_depth": 3,
    },
    "path": {"method": "path"},
    "rashomon": {"method": "rashomon", "objective.lam": 0.02},
    "constrained": {"method": "constrained", "objective.lam": 0.01},
    "fronts, F": {"method": "fronts", "objective.lam": 0.01},
    "fronts, AUC": {"method": "fronts", "objective": "auc", "objective.lam": 0.01},
    "regression": {"method": "regression", "objective.lam": 0.01, **LIMITED},
    "oblivious": {
        "method": "exact",
        "solver": "oblivious",
        "objective": "accuracy",
        "objective.lam": 0.0,
        **LIMITED,
    },
    "max_cost": {"method": "max_cost"},
    "front": {"method": "front"},
    "subtable_dp": {"method": "subtable_dp"},
    "dl8": {"method": "dl8", "objective.lam": 0.0, "stopping.standard.max_depth": 3},
    "dl85": {"method": "dl85", "objective.lam": 0.0, "stopping.standard.max_depth": 4},
    "osdt": {"method": "osdt", "objective.lam": 0.01},
    "gosdt_reference": {"method": "gosdt_reference", "objective.lam": 0.01},
    "rank": {"method": "rank", "objective.lam": 0.01},
    "binoct": {
        "method": "exact",
        "solver": "binoct",
        "objective": "accuracy",
        "objective.lam": 0.0,
        **LIMITED,
        "stopping.standard.max_depth": 2,
    },
    "cart, optimal_subtree": {"method": "cart", "pruner": "optimal_subtree"},
}
"""What is asked, beside the table."""
TWO_CLASSES = ("fronts, F", "fronts, AUC", "constrained", "osdt", "rank")
"""They know two classes: of more, the first stands against all others."""


@attrs.frozen
class Line:
    """What one fit took.   said : its status, "refused: …", or that it did not end."""

    solver: str
    table: str
    asked: float
    taken: float
    said: str


def tables() -> dict[str, Path]:
    """All that lie in the two folders, by name."""
    folders = [Path(os.environ[name]) for name in ("ARBORETUM_DATA", "ARBORETUM_BENCH")]
    return {
        path.name.removesuffix(".csv.gz"): path
        for folder in folders
        for path in sorted(folder.glob("*.csv.gz"))
    }


def dataset_of(path: Path) -> dict[str, object]:
    """The overrides that read a table."""
    if path.parent == Path(os.environ["ARBORETUM_DATA"]):
        return {"dataset": path.name.removesuffix(".csv.gz")}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        target = next(csv.reader(file))[-1]
    return {
        "dataset": "file",
        "dataset.path": str(path),
        "dataset.target": target,
        "dataset.task": "classification",
    }


@functools.lru_cache(maxsize=1)
def loaded(name: str) -> object:
    """A table, kept for the solvers that are asked for it one after the other."""
    from arboretum.plugin.assemble import RegistryFactory
    from arboretum.plugin.discovery import load_registry

    return (
        RegistryFactory(load_registry())
        .parts({}, {"method": "cart", "split": None, **dataset_of(tables()[name])})
        .dataset.load(0)
    )


def asked_of(solver: str, name: str) -> object:
    """The table as a solver is asked for it: numbers or two classes in place of its classes
    where it knows no others.
    """
    from arboretum.api import Target, Task

    table = loaded(name)
    if table.target.task is not Task.classification:
        return table
    if solver == "regression":
        return attrs.evolve(
            table, target=Target("y", Task.regression, values=table.target.codes.astype(float))
        )
    if solver in TWO_CLASSES and len(table.target.classes) > 2:
        return attrs.evolve(
            table,
            target=Target(
                "y",
                Task.classification,
                (table.target.codes > 0).astype("int32"),
                ("first", "others"),
            ),
        )
    return table


def measure(solver: str, table: str, memory: bool) -> Line:
    """Ask one solver for one table."""
    from arboretum.api import ArboretumError
    from arboretum.engine import check, select
    from arboretum.engine.run import pose, warm_up
    from arboretum.interfaces.budget import Budget
    from arboretum.kernels.jit import compile_clock
    from arboretum.plugin.assemble import RegistryFactory
    from arboretum.plugin.discovery import load_registry

    asked = float(MEGABYTES if memory else SECONDS)
    budget = Budget(memory_mb=MEGABYTES, seconds=4 * SECONDS) if memory else Budget(seconds=SECONDS)
    values = {"split": None, **SOLVERS[solver], **dataset_of(tables()[table])}
    taken = float("inf")
    try:
        read = asked_of(solver, table)
        if any(column.missing.any() for column in read.columns):
            values["encoder.missing"] = "category"
        if solver == "constrained":
            values["solver.increasing"] = [read.columns[0].name]
        parts = RegistryFactory(load_registry()).parts({}, values)
        check.check_parts(parts)
        check.check_table(parts, read)
        problem = pose(parts, read).problem
        warm_up(parts.method, problem, budget.context(0, lambda *_: None))
        for turn in range(1 if memory else 3):
            if memory:
                tracemalloc.start()
            if "STACKS" in os.environ:
                faulthandler.dump_traceback_later(1.3 * SECONDS, repeat=True)
            with compile_clock(lambda message: None) as compilation:
                start, context = time.process_time(), budget.context(0, lambda *_: None)
                solution = select.prune(select.grow_or_tune(problem, context), context).solution
                spent = time.process_time() - start
            faulthandler.cancel_dump_traceback_later()
            if memory:
                spent = tracemalloc.get_traced_memory()[1] / 1e6
                tracemalloc.stop()
            taken = spent if compilation.kernels else min(taken, spent)
            if taken <= asked + 0.1 * SECONDS or (turn and not compilation.kernels):
                break
        kept = "" if solution.tree is None else f", {solution.tree.n_leaves} leaves"
        return Line(solver, table, asked, round(taken, 2), f"{solution.status.value}{kept}")
    except ArboretumError as error:
        return Line(solver, table, asked, 0.0, f"refused: {str(error)[:160]}")
    except Exception as error:  # whatever it is, the other tables are measured
        return Line(solver, table, asked, float("inf"), f"failed: {error!r:.160}")


def solved(pairs: list[tuple[str, str]], memory: bool) -> Iterator[Line]:
    """A line per pair of solver and table, from a process of its own, which is started anew
    where it does not come back.
    """
    waiting = list(pairs)
    while waiting:
        command = [
            sys.executable,
            __file__,
            "--child",
            json.dumps(waiting),
            *(["--memory"] if memory else []),
        ]
        before = len(waiting)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for text in process.stdout:
                if text.startswith("LINE\t"):
                    values = text.rstrip("\n").split("\t")[1:]
                    yield Line(values[0], values[1], float(values[2]), float(values[3]), values[4])
                    waiting.remove((values[0], values[1]))
        if process.returncode and waiting:
            yield Line(
                *waiting.pop(0),
                float(MEGABYTES if memory else SECONDS),
                float("inf"),
                f"ended with {process.returncode}",
            )
        elif len(waiting) == before:
            return


def child(pairs: list[tuple[str, str]], memory: bool) -> None:
    """What the process does: a line per pair, at most PATIENCE processor seconds each."""
    import signal

    time.monotonic = time.process_time
    for solver, table in map(tuple, pairs):
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        line = measure(solver, table, memory)
        print(
            "LINE",
            *(str(value).replace("\n", " ") for value in attrs.astuple(line)),
            sep="\t",
            flush=True,
        )


def report(lines: list[Line]) -> str:
    """Per solver: how many tables, and the most that was taken."""
    rows = []
    for solver in dict.fromkeys(line.solver for line in lines):
        own = [line for line in lines if line.solver == solver]
        fits = [line for line in own if not line.said.startswith("refused")]
        worst = max(fits, key=lambda line: line.taken, default=None)
        over = sum(
            line.taken > 1.5 * line.asked if line.asked == SECONDS else line.taken > line.asked
            for line in fits
        )
        told = "–" if worst is None else f"{worst.taken:.2f} ({worst.table})"
        rows.append(f"| {solver} | {len(fits)} | {len(own) - len(fits)} | {told} | {over} |")
    return (
        "\n".join(
            [
                "| solver | fits | refused | most taken | over |",
                "| --- | --- | --- | --- | --- |",
                *rows,
            ]
        )
        + "\n"
    )


def kept_lines(file: Path, again: float | None) -> list[Line]:
    """The lines of a file that are not measured once more."""
    if again is None or not file.exists():
        return []
    with file.open(encoding="utf-8") as text:
        lines = [
            Line(r["solver"], r["table"], float(r["asked"]), float(r["taken"]), r["said"])
            for r in csv.DictReader(text)
        ]
    return [line for line in lines if line.taken <= again]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--solvers", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--tables", nargs="*", default=list(tables()))
    parser.add_argument("--to", type=Path)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--again", type=float)
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return child(asked.child, asked.memory)
    file = asked.to or HERE / ("budgets_memory.csv" if asked.memory else "budgets.csv")
    lines = kept_lines(file, asked.again)
    done = {(line.solver, line.table) for line in lines}
    order = {name: place for place, name in enumerate([*SOLVERS, *tables()])}
    pairs = [
        (solver, table)
        for table in asked.tables
        for solver in asked.solvers
        if (solver, table) not in done
    ]
    for line in solved(pairs, asked.memory):
        print(*attrs.astuple(line), sep="  ", flush=True)
        lines = sorted([*lines, line], key=lambda one: (order[one.solver], order[one.table]))
        with file.open("w", encoding="utf-8", newline="") as text:
            csv.writer(text, lineterminator="\n").writerows(
                [[f.name for f in attrs.fields(Line)], *map(attrs.astuple, lines)]
            )
    print(report(lines))


if __name__ == "__main__":
    main()
