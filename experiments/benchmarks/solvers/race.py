"""A race of exact solvers: every problem of a suite, every contestant in a process of its own.

    ARBORETUM_DATA=FOLDER ARBORETUM_BENCH=FOLDER python experiments/benchmarks/solvers/race.py
        sparse|limited|continuous [--with ours search prototype peer_fst …] [--only PART …]
        [--tables NAME@ENCODING …] [--lam 0.001 …] [--depth 5 …] [--prototype FOLDER]
        [--seconds 15] [--memory 6] [--out FOLDER]

Prints a line per problem and contestant as it ends, then who proved how much how fast.  What is
measured how: README.md. Exit status 1 where two contradict each other, or one contradicts itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from report import Result, closing, write
from suites import Question, load, questions

from arboretum.api import ArboretumError
from arboretum_peers.process import PeerProcess
from arboretum_peers.solvers import PEERS, Peer
from arboretum_peers.worker import leaves

CONTESTANTS = Path(__file__).with_name("contestants.py")
OWN = ("ours", "search", "prototype")
USUAL = {
    "sparse": ("ours", "prototype", "peer_fst"),
    "limited": ("ours", "prototype", "peer_pystreed", "peer_dl85"),
    "continuous": ("ours", "prototype", "peer_pycontree"),
}
REPEAT = 1.0
"""Seconds for further fits of what is faster."""


def errors_of(nodes: Sequence[Sequence[Any]], x: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """(rows that a tree gets wrong, its depth); a leaf without a label has its most frequent
    class.
    """
    wrong, depth, stack = 0, 0, [(0, np.arange(len(y)), 0)]
    while stack:
        node, rows, level = stack.pop()
        column, cut, low, high = nodes[node]
        depth = max(depth, level)
        if column < 0:
            label = cut if cut is not None else np.bincount(y[rows], minlength=1).argmax()
            wrong += int((y[rows] != label).sum())
        else:
            below = x[rows, column] <= cut
            stack += [(low, rows[below], level + 1), (high, rows[~below], level + 1)]
    return wrong, depth


def refused(name: str, peer: type[Peer] | None, question: Question, x: np.ndarray) -> str:
    """Why a contestant does not start: "" where it does."""
    if peer is None:
        deep = question.depth is not None and (
            question.lam != "0" or (x.dtype != np.uint8 and question.depth > 3)
        )
        return "knows no such depth" if name == "prototype" and deep else ""
    if question.lam != "0" and not peer.charges:
        return "knows no λ"
    if question.depth is not None and not peer.limits_depth:
        return "knows no depth"
    return "" if x.dtype == np.uint8 or peer.ordinals else "knows no thresholds"


def start(name: str, options: argparse.Namespace) -> PeerProcess:
    """A contestant's process, loaded."""
    peer = peer_of(name)
    if peer is not None:
        process = PeerProcess(CONTESTANTS, peer.adapter or peer.distribution, options.suite)
    else:
        rest = [options.prototype] if name == "prototype" else []
        process = PeerProcess(CONTESTANTS, name, options.suite, *rest, python=sys.executable)
    print(f"{name}: {process.ready()}", flush=True)
    return process


def peer_of(name: str) -> type[Peer] | None:
    """The peer's class; None for our own."""
    return next((cls for cls in PEERS if cls.name == name), None)


def asked(
    process: PeerProcess,
    name: str,
    question: Question,
    x: np.ndarray,
    y: np.ndarray,
    options: argparse.Namespace,
) -> Result:
    """Let one contestant solve one problem."""
    peer = peer_of(name)
    if why := refused(name, peer, question, x):
        return Result(question, name, note=why)
    depth, reaches = question.depth, True
    if peer is not None and peer.most_depth is not None and depth is None:
        root = len(y) - int(np.bincount(y).max())
        # each test once on a path, each leaf a row of its own
        needed = min(x.shape[1], len(np.unique(x, axis=0)) - 1)
        # k leaves more than one cost k λ, and save at most all errors of the root
        if question.lam != "0":
            needed = min(needed, int(Fraction(root, len(y)) / Fraction(question.lam)))
        depth, reaches = min(peer.most_depth, needed), needed <= peer.most_depth
    told = {
        "lam": float(question.lam),
        "depth": depth,
        "seconds": options.seconds,
        "bytes": int(options.memory * 1e9),
        "repeat": REPEAT,
    }
    try:
        found = process.ask(x, y, None, keep=True, **told)
    except ArboretumError as error:
        return Result(question, name, note=str(error).partition("\n")[0][:100])
    return judged(question, name, found, x, y, options.seconds, reaches)


def judged(
    question: Question,
    name: str,
    found: Mapping[str, Any],
    x: np.ndarray,
    y: np.ndarray,
    seconds: float,
    reaches: bool,
) -> Result:
    """The answer, counted again."""
    if "spent" in found:
        return Result(question, name, note=f"out of {found['spent']}")
    rows, note = len(y), ""
    value, count, depth = None, found.get("leaves"), found.get("depth")
    errors = found.get("errors")
    if found.get("nodes"):
        errors, depth = errors_of(found["nodes"], x, y)
        count = leaves(found["nodes"])
    if errors is not None:
        value = question.value(errors, count, rows)
        if question.depth is not None and depth > question.depth:
            note = f"WRONG: depth {depth}"
        if (
            found.get("claim") is not None
            and abs(found["claim"] - float(value)) > 1e-6
            and found["proven"]
        ):
            note = f"WRONG: claims {found['claim']:.6f}, its tree has {float(value):.6f}"
    claim = float(value) if value is not None else found.get("claim")
    late = found["seconds"] > seconds
    proven = bool(found["proven"]) and reaches and not note.startswith("WRONG")
    lower = claim if proven else found.get("lower")
    extra = {name: found.get(name) for name in ("memory", "own", "first", "subproblems")}
    return Result(
        question,
        name,
        found["seconds"],
        claim,
        lower,
        proven and not late,
        errors,
        count,
        value is not None,
        note or "late" * late,
        **extra,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=sorted(USUAL))
    names = [*OWN, *(cls.name for cls in PEERS)]
    parser.add_argument("--with", dest="contestants", nargs="+", choices=names, help="who runs")
    parser.add_argument("--only", nargs="+", default=[], help="parts of names of problems")
    parser.add_argument(
        "--tables", nargs="+", default=[], help="NAME@ENCODING …, instead of the tables of sparse"
    )
    parser.add_argument(
        "--lam", nargs="+", default=[], help="prices of a leaf, instead of the suite's"
    )
    parser.add_argument(
        "--depth", nargs="+", type=int, default=[], help="depths, instead of the suite's"
    )
    parser.add_argument("--prototype", default="", help="folder of prototypes")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument(
        "--memory", type=float, default=6.0, help="gigabytes beyond what a loaded contestant has"
    )
    parser.add_argument(
        "--out",
        default="",
        help="folder for SUITE.csv and SUITE.md; the whole suite goes beside this file without",
    )
    options = parser.parse_args()
    contestants = options.contestants or [
        name for name in USUAL[options.suite] if name != "prototype" or options.prototype
    ]
    running, results = {}, []
    for name in list(contestants):
        try:
            running[name] = start(name, options)
        except ArboretumError as error:
            print(f"left out: {error}", flush=True)
    contestants = list(running)
    if not contestants:
        return 1
    parts = options.only, options.lam, options.depth, options.tables
    for question in questions(options.suite, *parts):
        x, y = load(question.table)
        for name in contestants:
            if not running[name].runs:
                running[name] = start(name, options)
            results.append(asked(running[name], name, question, x, y, options))
            print(results[-1].line(), flush=True)
    text, wrong = closing(results, contestants, options.seconds)
    print(text)
    if options.out or not any(parts):
        write(Path(options.out or Path(__file__).parent), options.suite, results, text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
