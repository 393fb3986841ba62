"""What limits, costs, weights and prices add to the time of the sparse suite's plain case.

    ARBORETUM_DATA=FOLDER ARBORETUM_BENCH=FOLDER python experiments/benchmarks/solvers/variants.py
        [--only PART …] [--variants NAME …] [--lam 0.01 …] [--seconds 15] [--out FOLDER]

Plain and variant take turns, problem by problem; as in the race, each fit has a process of its own,
and its clock starts when its kernels are loaded.  Problems that plain does not prove within
``PLAIN`` seconds are left out.  What is measured, is added to variants.csv (a problem that stands
there is measured anew); variants.md is the table of all that stands there. Exit status 1 where a
tree under limits is better than the best one without.
"""

from __future__ import annotations

import argparse
import csv
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from race import CONTESTANTS
from report import CLOSE, mean
from suites import Question, load, questions

from arboretum.api import ArboretumError, Price, table
from arboretum_peers.process import PeerProcess

PLAIN, MEMORY, REPEAT = 5.0, 6.0e9, 0.3
"""Seconds in which plain has to be proven, bytes, and seconds for further fits of what is
faster.
"""
LIMITS = ("depth 3", "depth 4", "depth 5", "leaves − 1", "leaves + 2", "least leaf 5")
"""Variants of the same objective, so that no value is below the plain one's."""
HEAD = (
    "problem",
    "variant",
    "seconds",
    "proven",
    "value",
    "lower",
    "leaves",
    "subproblems",
    "note",
)


def variants(
    question: Question, x: np.ndarray, y: np.ndarray, leaves: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, what is different); the same random numbers for a table whatever the λ.

    leaves : of the plain optimum.

    λ grows with the mean cost of an error.  μ is a tenth of λ, so that a test of the costliest
    price costs all rows a leaf.
    """
    rng, n = np.random.default_rng(zlib.crc32(question.table.encode())), len(y)
    lam, k = float(question.lam), int(y.max()) + 1
    whole, real, costs = (
        rng.integers(1, 11, n),
        rng.uniform(0.5, 1.5, n),
        rng.integers(1, 6, (k, k)) * (1 - np.eye(k, dtype=int)),
    )
    price = {"prices": rng.integers(1, 11, x.shape[1]).astype(float), "mu": lam / 10}
    for depth in (3, 4, 5):
        yield f"depth {depth}", {"depth": depth}
    yield "cost matrix", {"objective": "CostMatrix", "costs": costs.tolist(), "lam": 3 * lam}
    yield "weights 1–10", {"weight": whole.astype(float)}
    yield "weights 0.1–1.0", {"weight": whole / 10}
    yield "weights 0.50–1.50", {"weight": real.round(2)}
    yield "weights of 17 digits", {"weight": real}
    yield "balanced", {"objective": "Balanced"}
    yield "expected price", price
    if leaves > 2:
        yield "leaves − 1", {"leaves": leaves - 1}
    yield "leaves + 2", {"leaves": leaves + 2}
    yield "least leaf 5", {"least": 5}
    yield "costliest path", {**price, "price": Price.max}


def measured(
    process: PeerProcess,
    question: Question,
    name: str,
    changes: dict[str, Any],
    arrays: Any,
    seconds: float,
) -> dict[str, Any]:
    """A row of the table."""
    changes = dict(changes)
    told = {
        "lam": changes.pop("lam", float(question.lam)),
        "depth": changes.pop("depth", None),
        "seconds": seconds,
        "bytes": int(MEMORY),
    }
    row = dict.fromkeys(HEAD, "") | {"problem": question.name, "variant": name, "proven": "no"}
    try:
        found = process.ask(*arrays, None, keep=True, **told, repeat=REPEAT, changes=changes)
    except ArboretumError as error:
        return row | {"note": str(error).partition("\n")[0][:100]}
    if "spent" in found:
        return row | {"note": f"out of {found['spent']}"}
    proven = "yes" if found["proven"] and found["seconds"] <= seconds else "no"
    row |= {
        "seconds": f"{found['seconds']:.5f}",
        "proven": proven,
        "value": repr(found["claim"]),
        "lower": repr(found["lower"]),
    }
    return row | {name: str(found[name]) for name in ("leaves", "subproblems")}


def closing(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """(a line per variant; problems on which a tree under limits is better than the best one
    without).
    """
    plain = {
        row["problem"]: row for row in rows if row["variant"] == "plain" and row["proven"] == "yes"
    }
    lines, wrong = [], []
    for name in dict.fromkeys(row["variant"] for row in rows if row["variant"] != "plain"):
        ran = [row for row in rows if row["variant"] == name and row["problem"] in plain]
        both = [
            (float(row["seconds"]) / float(plain[row["problem"]]["seconds"]), row["problem"])
            for row in ran
            if row["proven"] == "yes"
        ]
        worst, where = max(both, default=(np.nan, ""))
        line = {
            "variant": name,
            "proven": f"{len(both)} of {len(ran)}",
            "÷ plain": mean([ratio for ratio, _ in both]) if both else np.nan,
        }
        lines.append(
            line | {"above 2": sum(ratio > 2 for ratio, _ in both), "worst": worst, "on": where}
        )
        for row in ran if name in LIMITS else ():
            least = float(plain[row["problem"]]["value"])
            if row["value"] and (
                float(row["value"]) < least - CLOSE
                or (name == "leaves + 2" and float(row["lower"]) > least + CLOSE)
            ):
                wrong.append(
                    f"CONTRADICTION: {row['problem']}, {name}: {row['value']}, plain {least}"
                )
    return lines, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="parts of names of problems")
    parser.add_argument("--variants", nargs="+", default=[], help="parts of names of variants")
    parser.add_argument(
        "--lam", nargs="+", default=[], help="prices of a leaf, instead of the suite's"
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent,
        help="folder of variants.csv and variants.md",
    )
    options = parser.parse_args()
    file, process, known = options.out / "variants.csv", None, {}
    if file.exists():
        with file.open(encoding="utf-8") as text:
            known = {(row["problem"], row["variant"]): row for row in csv.DictReader(text)}
    for question in questions("sparse", options.only, options.lam, []):
        arrays, row = load(question.table), {}

        def keep(name: str, changes: dict[str, Any], seconds: float) -> dict[str, Any]:
            nonlocal process
            if process is None or not process.runs:
                process = PeerProcess(CONTESTANTS, "ours", "sparse", python=sys.executable)
                process.ready()
            row = known[question.name, name] = measured(
                process, question, name, changes, arrays, seconds
            )
            print(
                *(
                    f"{row[key]:{width}}"
                    for key, width in zip(HEAD, (30, 20, 9, 4, 20, 20, 3, 8, 1), strict=True)
                ),
                flush=True,
            )
            return row

        row = keep("plain", {}, PLAIN)
        if row["proven"] == "yes":
            for name, changes in variants(question, *arrays, int(row["leaves"])):
                if not options.variants or any(part in name for part in options.variants):
                    keep(name, changes, options.seconds)
    rows = list(known.values())
    lines, wrong = closing(rows)
    shown = "\n".join([table.text_table(lines, width=None), *wrong])
    print(shown)
    options.out.mkdir(parents=True, exist_ok=True)
    file.write_text(table.csv_table(rows), encoding="utf-8")
    head = (
        "Time ÷ that of the plain case (loss + λ · leaves), over what both prove; `variants.py` "
        "says how it is measured."
    )
    file.with_suffix(".md").write_text(
        f"# Limits, costs, weights and prices\n\n{head}\n\n```text\n{shown}\n```\n",
        encoding="utf-8",
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
