"""A race of those who count all trees that are nearly as good as the best.

    ARBORETUM_DATA=FOLDER ARBORETUM_BENCH=FOLDER ARBORETUM_PEERS=PYTHON:PYTHON…
        python experiments/benchmarks/solvers/rashomon.py [--only PART …] [--seconds 20]
        [--out FOLDER]

Each question is a table's first rows, so many that λ · n is a whole number, which some round it to;
columns that say the same, or the contrary, stand once, for we count their tests once.  Seconds are
the processor's, of one process each, in turns.  Exit status 1 where exact counts differ; TreeFARMS
may lose trees at the very bound, where λ is no decimal.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from contestants import problem_of
from suites import load

from arboretum.api import ArboretumError, Context, Status, table
from arboretum_peers.process import WORKER, PeerProcess
from arboretum_peers.worker import COUNTERS

OWN = ("ours", "ours, with columns")
EXACT = (*OWN, "treefarms", "tree-praxis/exact", "arborenum")
"""Whose counts must be the same."""
REPEAT = 1.0
"""Seconds for further fits of what is faster."""


@attrs.frozen
class Question:
    """Trees of at most (1 + ε) times the least errors / n + λ · leaves, within a depth.

    rows : the table's first so many; where it has fewer, so many drawn with replacement.
    """

    table: str
    rows: int
    lam: float
    depth: int
    epsilon: float

    @property
    def name(self) -> str:
        drawn = " drawn" if self.rows >= DRAWN else ""
        return f"{self.table.removesuffix('@numbers')}, {self.rows} rows{drawn}"


DRAWN = 1_000_000
"""From so many rows on a question's rows are drawn: no table here has as many."""
QUESTIONS = (
    Question("bar-7@binary", 1900, 0.02, 5, 0.09),
    Question("compas-binary@binary", 6900, 0.02, 5, 0.09),
    Question("compas-binary@binary", 6900, 0.01, 5, 0.09),
    Question("compas-binary@binary", 6907, 138 / 6907, 5, 0.1),
    Question("compas-binary@binary", DRAWN, 0.01, 5, 0.09),
    Question("fico-binary@binary", 10400, 0.01, 5, 0.09),
    Question("fico-binary@binary", DRAWN, 0.01, 5, 0.09),
    Question("german-credit@binary", 1000, 0.02, 3, 0.09),
    Question("heart-cleveland@binary", 200, 0.02, 4, 0.09),
    Question("hypothyroid@binary", 3200, 0.01, 4, 0.09),
    Question("ct_raisin@numbers", 900, 0.02, 2, 0.01),
    Question("ct_raisin@numbers", 900, 0.02, 3, 0.01),
    Question("ct_bank@numbers", 1300, 0.01, 2, 0.05),
    Question("ct_page@numbers", 5400, 0.01, 2, 0.02),
    Question("fourclass@numbers", 850, 0.02, 3, 0.02),
    Question("compas_cont@numbers", 6900, 0.02, 3, 0.02),
)


def distinct(x: np.ndarray) -> np.ndarray:
    """The columns that divide the rows, each division once.   x : of 0 and 1."""
    seen: set[bytes] = set()
    kept = []
    for at, column in enumerate(x.T):
        turned = column ^ column[0]  # a column and its complement are one
        if turned.any() and turned.tobytes() not in seen:
            seen.add(turned.tobytes())
            kept.append(at)
    return x[:, kept]


def read(question: Question) -> tuple[np.ndarray, np.ndarray]:
    """x, y of a question, labels 0 … k − 1."""
    x, y = load(question.table)
    which = np.arange(question.rows)
    if question.rows >= DRAWN:
        which = np.random.default_rng(0).integers(0, len(x), question.rows)
    x, y = x[which], np.unique(y[which], return_inverse=True)[1]
    return (distinct(x) if x.dtype == np.uint8 else x), y.astype(np.int64)


def timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """(what it returns, the median of its seconds)."""
    took: list[float] = []
    while not took or (sum(took) + took[-1] < REPEAT and len(took) < 9):
        start = time.process_time()
        found = fit()
        took.append(time.process_time() - start)
    return found, sorted(took)[(len(took) - 1) // 2]


def ours(
    question: Question, x: np.ndarray, y: np.ndarray, seconds: float, *, count_alone: bool
) -> dict[str, Any]:
    """solver=rashomon, nothing listed or compared: the optimum, the set, its number of trees and
    which columns they ask.

    count_alone : without the last.
    """
    from arboretum_gosdt.solvers.rashomon import Rashomon, TreeSet

    problem = problem_of(x, y, question.lam, question.depth)
    solver = Rashomon(epsilon=question.epsilon, listed=0, compared=0)
    solver.warm_up(problem, Context())

    last = 0

    def fit() -> tuple[int | None, float]:
        """(how many trees, None where that is not known; the least value)."""
        nonlocal last
        context = Context(deadline=time.monotonic() + seconds)
        if not count_alone:
            solution = solver.solve(problem, context)
            known = solution.details.get("trees")
            return None if known is None else int(known), solution.value
        found = TreeSet.read(problem, context, solver.limits, by_sides=question.epsilon)
        optimum = found.optimum()
        ended = optimum.status is not Status.optimal or found.find_asked_trees(solver)
        last = 0 if ended else found.counts[-1]
        return None if ended else sum(found.counts), optimum.value

    trees, least = fit()  # what it compiles for numbers of this width
    if trees is None:
        return {"note": "out of seconds"}
    (trees, least), took = timed(fit)
    return {"trees": trees, "least": least, "seconds": took, "last": last}


def asked(
    who: str, question: Question, x: np.ndarray, y: np.ndarray, seconds: float
) -> dict[str, Any]:
    """What one of them says, with a note where it says nothing."""
    if who in OWN:
        return ours(question, x, y, seconds, count_alone=who == OWN[0])
    if x.dtype != np.uint8 and who != "arborenum":
        return {"note": "knows no thresholds"}
    if who == "treefarms" and y.max() > 1:
        return {"note": "knows two classes"}
    try:
        process = PeerProcess(WORKER, who)
        process.ready()
        job = {"lam": question.lam, "depth": question.depth, "epsilon": question.epsilon}
        job["processor"] = True
        until = time.monotonic() + seconds + REPEAT
        found = process.ask(x, y, until, **job, seconds=seconds, bytes=None, repeat=REPEAT)
    except ArboretumError as error:
        return {"note": str(error).partition("\n")[0][:100]}
    return {"note": f"out of {found['spent']}"} if "spent" in found else dict(found)


def rows_of(question: Question, seconds: float) -> Iterator[dict[str, Any]]:
    """A row per contestant."""
    x, y = read(question)
    first: dict[str, Any] = {}
    for who in (*OWN, *COUNTERS):
        found = asked(who, question, x, y, seconds)
        first = first or found
        both = "seconds" in found and "seconds" in first and who != OWN[0]
        yield {
            "problem": question.name,
            "columns": x.shape[1],
            "λ": question.lam,
            "depth": question.depth,
            "ε": question.epsilon,
            "who": who,
            "trees": found.get("trees"),
            "seconds": found.get("seconds"),
            "÷ ours": found["seconds"] / first["seconds"] if both else None,
            "note": found.get("note", "") or _more(found) or loses_at_bound(who, found, first),
        }


def _more(found: dict[str, Any]) -> str:
    """The note that a peer lists more trees than are asked for."""
    more = found.get("listed", found.get("trees", 0)) - found.get("trees", 0)
    return f"lists {more:,} more, above the bound" if more else ""


def loses_at_bound(who: str, found: dict[str, Any], first: dict[str, Any]) -> str:
    """The note that TreeFARMS, which adds λ up as floats, loses trees of the greatest value."""
    lost = first.get("trees", 0) - found.get("trees", 0)
    if who != "treefarms" or "trees" not in found or not 0 < lost <= first.get("last", 0):
        return ""
    return f"loses {lost:,} of the {first['last']:,} trees at the bound"


def contradictions(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Whose exact counts differ from ours."""
    counts: dict[tuple[Any, ...], int] = {}
    wrong = []
    for row in rows:
        key = row["problem"], row["λ"], row["depth"], row["ε"]
        if row["trees"] is None or row["who"] not in EXACT:
            continue
        if row["who"] == OWN[0]:
            counts[key] = row["trees"]
        elif (
            key in counts
            and counts[key] != row["trees"]
            and not row.get("note", "").startswith("loses")
        ):
            wrong.append(
                f"{row['problem']}, λ = {row['λ']:g}: {row['who']} counts {row['trees']:,}, "
                f"ours {counts[key]:,}"
            )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="parts of names of tables")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", default="", help="folder for rashomon.csv and rashomon.md")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for question in QUESTIONS:
        if options.only and not any(word in question.name for word in options.only):
            continue
        for row in rows_of(question, options.seconds):
            rows.append(row)
            print(
                *(f"{value:.6g}" if isinstance(value, float) else value for value in row.values())
            )
            sys.stdout.flush()
    wrong = contradictions(rows)
    said = [f"CONTRADICTION: {text}" for text in wrong] or ["no exact count differs from ours"]
    print("\n".join(said))
    if options.out or not options.only:
        folder = Path(options.out or Path(__file__).parent)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rashomon.csv").write_text(table.csv_table(rows), encoding="utf-8")
        text = "\n".join(said)
        page = f"# rashomon\n\n```text\n{text}\n```\n\n{table.markdown_table(rows)}"
        (folder / "rashomon.md").write_text(page, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
