"""What runs as a contestant: a process that loads, then forks one of its own for each problem.

    python contestants.py NAME SUITE [FOLDER]

NAME is a peer of arboretum_peers/worker.py, whose protocol this speaks; ``ours``, the component;
``search``, its bare searches; or ``prototype``, those in a folder.  What is compiled or loaded is
so before the clock starts, on the problem itself where kernels differ by the width of its numbers.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "plugins" / "arboretum_peers"))

import numpy as np
import worker

GRACE = 5.0
"""Seconds beyond the limit before a problem's process is killed."""
SECOND = 1.0
"""When the best value known is noted."""


def problem_of(
    x, y, lam, depth, leaves=None, least=1, weight=None, prices=None, objective="Accuracy", **fields
):
    """The house's problem: 0/1 columns as coded two-way tests, others raw.

    fields : of the objective, besides λ.
    """
    from arboretum.api import (
        Column,
        ColumnKind,
        Encoded,
        Family,
        Feature,
        Limits,
        Parts,
        Prices,
        Problem,
        RawFeature,
        Table,
        Target,
        Task,
        Values,
    )
    from arboretum_gosdt.problem import objectives

    class Asks(Feature):
        def rule(self, index):
            return Values(self.column, ("0", "1"))

    class Depth:
        name = "standard"

        def limits(self):
            return Limits(max_depth=depth, max_leaves=leaves, min_leaf=least)

        def leaf_rule(self):
            from arboretum.api import LeafRule

            return LeafRule()

    binary = x.dtype == np.uint8
    names = [f"x{i}" for i in range(x.shape[1])]
    if binary:
        columns = [
            Column(name, ColumnKind.categorical, x[:, i].astype(np.int32), ("0", "1"))
            for i, name in enumerate(names)
        ]
    else:
        columns = [Column(name, ColumnKind.continuous, x[:, i]) for i, name in enumerate(names)]
    classes = tuple(map(str, range(int(y.max()) + 1)))
    table = Table(
        "race", tuple(columns), Target("y", Task.classification, y.astype(np.int32), classes)
    )
    features = (
        tuple(Asks(name, i, Family.multiway, 2) for i, name in enumerate(names)) if binary else ()
    )
    raw = () if binary else tuple(RawFeature(name, i) for i, name in enumerate(names))
    n, nothing = len(y), np.zeros((len(y), 0))
    objects = Encoded(
        table,
        features,
        # by column, as encoders lay codes out
        np.asfortranarray(x if binary else nothing.astype(np.uint8)),
        raw,
        nothing if binary else x,
        label=y.astype(np.int32),
        y=None,
        weight=np.ones(n) if weight is None else weight,
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
    prices = Prices(np.ones(len(features)) if prices is None else prices, np.ones(len(raw)))
    return Problem(
        objects,
        prices,
        Parts(
            method=None,
            objective=getattr(objectives, objective)(lam, **fields),
            stopping=(Depth(),),
        ),
    )


class Curve:
    """What was known after a second, and at the end."""

    def __init__(self):
        self.start, self.first = time.monotonic(), None

    def __call__(self, lower, value):
        if time.monotonic() - self.start <= SECOND:
            self.first = value


def ours():
    """solver=gosdt, as a run calls it: preparation, search, tree and its value."""
    from arboretum.api import Context, Status
    from arboretum.plugin.discovery import load_registry

    try:
        cls = load_registry().get("solver", "gosdt").cls
    except Exception as error:
        raise ImportError(str(error)) from None

    def begin(x, y, job):
        from arboretum.kernels.jit import compile_clock

        problem, solver, held = (
            problem_of(x, y, job["lam"], job["depth"], **job.get("changes", {})),
            cls(),
            {},
        )

        def context(seconds):
            return Context(
                deadline=time.monotonic() + seconds,
                memory_bytes=job["bytes"],
                proven=held.setdefault("curve", Curve()),
            )

        with compile_clock(lambda message: None):
            solver.warm_up(problem, context(60.0)) if hasattr(solver, "warm_up") else None
            solver.solve(problem, context(0.05))  # whatever it compiles for numbers of this width
        held.clear()

        def fit():
            held["found"] = solver.solve(problem, context(job["seconds"] or 1e6))

        def read():
            found, table = held["found"], problem.objects.table
            wrong = int((found.tree.predict(table) != y).sum())
            return {
                "errors": wrong,
                "leaves": found.tree.n_leaves,
                "depth": int(found.tree.depth_of.max()),
                "lower": found.lower_bound,
                "claim": found.value,
                "proven": found.status is Status.optimal,
                "first": held["curve"].first,
                "subproblems": found.subproblems,
            }

        return fit, read

    return begin


def search():
    """The searches of the plugin themselves: preparation, search and tree, without the component
    around them.
    """
    from arboretum_gosdt.problem.prepared import all_tests, merge_equal_rows, units_of

    def begin(x, y, job):
        problem, held = problem_of(x, y, job["lam"], job["depth"]), {}

        def fit(seconds=None):
            curve = Curve()
            until = time.monotonic() + (seconds or job["seconds"] or 1e6)
            units = units_of(problem)
            if x.dtype == np.uint8:
                merged = merge_equal_rows(problem, all_tests(problem), units).prepared
                p, q, base = (units.p, units.q, merged.base)
                if not len(merged.weights) or not len(merged.tests):
                    held.update(nodes=[[-1, None, 0, 0]], lower=None, proven=True, own=0)
                    return
                arrays = merged.bits, merged.weights
                if p == 0 and job["depth"] is not None:
                    from arboretum_gosdt.depth.search import LimitedSearch

                    walk = LimitedSearch(*arrays, len(merged.tests), job["depth"])
                else:
                    from arboretum_gosdt.sparse.search import SparseSearch

                    walk = SparseSearch(*arrays, len(merged.tests), p, q, job["depth"])
            else:
                from arboretum_gosdt.continuous.search import IntervalSearch

                ranks = np.array(
                    [np.unique(column, return_inverse=True)[1] for column in x.T], np.int32
                ).T
                lead = np.zeros((len(y), int(y.max()) + 1), np.int64)
                lead[np.arange(len(y)), y] = 1
                rows, inverse = np.unique(ranks, axis=0, return_inverse=True)
                weights = np.zeros((len(rows), lead.shape[1]), np.int64)
                np.add.at(weights, inverse.ravel(), lead)
                base = int(weights.min(1).sum()) * (1 if lead.shape[1] == 2 else 0)
                if lead.shape[1] == 2:
                    weights -= weights.min(1, keepdims=True)
                q = 1
                walk = IntervalSearch(rows, weights, job["depth"])
                held["ranks"] = ranks
            ended = walk.run(
                until, job["bytes"], lambda low, up: curve(low, units.value(up + q * base))
            )
            held["tree"] = walk.tree() if hasattr(walk, "tree") else None
            held.update(
                walk=walk,
                proven=ended == "",
                first=curve.first,
                lower=units.value(walk.lower + q * base),
                own=walk.bytes_used,
            )
            held.update(
                claim=units.value(walk.upper + q * base),
                tests=merged.tests if x.dtype == np.uint8 else None,
            )

        def read():
            if "nodes" in held:
                return {"nodes": held["nodes"], "proven": True, "claim": None}
            nodes = []
            for column, cut, one, zero in held["tree"].tolist() if held["tree"] is not None else ():
                if column < 0:
                    nodes.append([-1, None, 0, 0])
                elif held["tests"] is not None:  # outcome 1 is the 1
                    nodes.append([int(held["tests"][column]), 0, zero, one])
                else:
                    values = np.unique(x[:, column])
                    nodes.append([column, float(values[cut]), one, zero])
            kept = {name: held[name] for name in ("proven", "claim", "lower", "first", "own")}
            return {"nodes": nodes, **kept, "subproblems": int(held["walk"].subproblems)}

        fit(0.05)  # compiles or loads what numbers of this width need
        held.clear()
        return fit, read

    return begin


def prototype(folder):
    """Prototypes: FOLDER/sparse/solver.py, FOLDER/depth_limited/sa.py, FOLDER/continuous/sb.py
    and sbk.py; values only.
    """

    def adapter():
        os.environ.setdefault(
            "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir(), "prototype-kernels"))
        )
        known = {}

        def module(place, name):
            if name not in known:
                sys.path.insert(0, str(Path(folder, place)))
                known[name] = __import__(name)
                sys.path.pop(0)
                sys.modules.pop("kern", None)
            return known[name]

        def begin(x, y, job):
            held = {}
            if job["lam"]:
                solver = module("sparse", "solver")
                solver.run(
                    np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 4),
                    np.array([0, 1, 1, 0] * 4),
                    0.1,
                    1.0,
                )

                def fit():
                    held["lower"], held["claim"] = solver.run(
                        x.astype(np.int64), y, job["lam"], job["seconds"] or 60.0
                    )[1:3]

                return fit, lambda: {**held, "proven": held["lower"] >= held["claim"] - 1e-12}
            if x.dtype == np.uint8:
                limited = module("depth_limited", "sa")
                limited.fit(
                    np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]] * 9),
                    np.array([0, 1, 1, 0] * 9),
                    4,
                )
                run = lambda: limited.fit(x.astype(np.int64), y, job["depth"])[0]
            else:
                intervals = module("continuous", "sb" if y.max() == 1 else "sbk")
                toy = np.random.default_rng(0).random((60, 3))
                intervals.fit(
                    toy,
                    np.unique(
                        (toy[:, 0] * (int(y.max()) + 1)).astype(np.int64), return_inverse=True
                    )[1],
                    3,
                )
                run = lambda: intervals.fit(x, y, job["depth"])[0]

            def fit():
                held["claim"] = run() / len(y)

            return fit, lambda: {**held, "proven": True}

        return begin

    return adapter


OWN = {"ours": ours, "search": search, "prototype": prototype}
LIKE = {
    "sparse": (0.01, None, np.uint8),
    "limited": (0.0, 3, np.uint8),
    "continuous": (0.0, 3, np.float64),
}
"""Suite → λ, depth and numbers of the rehearsal."""


def main(name: str, suite: str, *rest: str) -> None:
    """Load, say so, and fork for every job, until the connection ends."""
    line, own = worker.connect(), OWN.get(name)
    try:
        begin = (
            (own(*rest) if own is not prototype else own(*rest)())
            if own
            else worker.ADAPTERS[name]()
        )
        # what compiles; the others may start threads, which no fork survives
        if own or name == "imodels":
            worker.rehearse(begin, *LIKE[suite])
        line.send({"ready": name if own else worker.name_and_version(name)})
    except ImportError as error:
        line.send({"absent": str(error)})
        return
    while True:
        try:
            job = line.recv()
        except EOFError:
            return
        child = os.fork()
        if child == 0:

            def begun(seconds: float = job["seconds"]) -> None:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                # ends the process, whatever it does
                signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)

            line.send(worker.answer(begin, job, begun))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if status:
            line.send({"spent": "seconds" if os.WTERMSIG(status) == signal.SIGALRM else "memory"})


if __name__ == "__main__":
    main(*sys.argv[1:])
