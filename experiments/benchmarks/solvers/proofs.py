"""Every proof of the sparse suite, written and checked.

    ARBORETUM_DATA=FOLDER ARBORETUM_BENCH=FOLDER python experiments/benchmarks/solvers/proofs.py
        [--only PART …] [--lam 0.001 …] [--seconds 15] [--out FOLDER]

Each problem is searched for so many seconds of the processor; of those that are proven the proof is
written, read again and checked; all of that ``REPEATS`` times where a search takes less than
``SHORT`` seconds, and the least of each is shown.  A line per problem is added to ``proofs.csv`` as
it ends, and problems that are there are left out, so that a suite can be run in pieces;
``proofs.md`` is the table of all of them.  Kernels are compiled before the clock starts.  Exit
status 1 where a proof is not accepted.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from pathlib import Path

import attrs
from contestants import problem_of
from suites import Question, load, questions

from arboretum.api import Context, Status, VerificationError
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum_gosdt.problem.proving import prove
from arboretum_gosdt.solvers.gosdt import Gosdt

REPEATS, SHORT = 3, 0.1
KEYS = ("problem", "search s", "write s", "check s", "records", "accepted")


def proven(question: Question, seconds: float, path: str) -> dict[str, object]:
    """One line of the table."""
    solver = Gosdt(proof=path)
    problem = problem_of(*load(question.table), float(question.lam), None)
    # its stopping rule is in no registry
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver, stopping=()))
    solver.warm_up(problem, Context())
    start = time.process_time()
    attempt, found, left = solver.begin(problem), None, seconds
    while left > 0 and (found is None or found.status is not Status.optimal):
        found = attempt.go_on(Context(deadline=time.monotonic() + max(0.5, left)))
        left = start + seconds - time.process_time()
    searched = time.process_time()
    line = {"problem": question.name, "search s": f"{searched - start:.4g}"}
    if found.status is not Status.optimal:
        return line | {"accepted": f"not proven in {seconds:g} s"}
    prove(path, attempt.search, found, Context())
    written = time.process_time()
    proof = read(path)
    try:
        accepted = (
            "yes"
            if abs(check(proof, problem).lower_bound - found.value) < 1e-9
            else "WRONG: it shows another bound"
        )
    except VerificationError as error:
        accepted = f"WRONG: {error}"
    seconds_of = {
        "write s": f"{written - searched:.4g}",
        "check s": f"{time.process_time() - written:.4g}",
    }
    return line | seconds_of | {"records": f"{proof.n_records}", "accepted": accepted}


def least_of(question: Question, seconds: float, path: str) -> dict[str, object]:
    """One line of the table, of several readings where the search is short."""
    line = proven(question, seconds, path)
    for _ in range(REPEATS - 1 if float(str(line["search s"])) < SHORT else 0):
        again = proven(question, seconds, path)
        for key in ("search s", "write s", "check s"):
            line[key] = min(line[key], again[key], key=lambda text: float(str(text)))
    return line


def warm(path: str) -> None:
    """Compile what writes and checks proofs."""
    proven(Question("monk1@onehot", "0.1"), 60.0, path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--lam", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    lines, target = [], asked.out / "proofs.csv"
    if target.exists():
        with target.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "proof"))
        warm(path)
        for question in questions("sparse", asked.only, asked.lam, []):
            if question.name not in {line["problem"] for line in lines}:
                lines.append(least_of(question, asked.seconds, path))
                print(" ".join(f"{lines[-1].get(key, '–'):>12}" for key in KEYS), flush=True)
                with target.open("w", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, KEYS, restval="")
                    writer.writeheader()
                    writer.writerows(lines)
    table = ["| " + " | ".join(KEYS) + " |", "| :-- | --: | --: | --: | --: | :-- |"]
    table += ["| " + " | ".join(line.get(key) or "–" for key in KEYS) + " |" for line in lines]
    accepted = [line for line in lines if line["accepted"] == "yes"]
    said = f"{len(accepted)} of {len(lines)} problems proven within the limit, every proof accepted"
    within = [
        sum(float(line[key]) <= most * float(line["search s"]) for line in accepted)
        for key, most in (("write s", 5), ("check s", 1))
    ]
    said += f"; written within five times the search: {within[0]}, checked within it: {within[1]}"
    wrong = [line["problem"] for line in lines if line["accepted"].startswith("WRONG")]
    (asked.out / "proofs.md").write_text(
        "\n".join(
            [
                "# Proofs of the sparse suite",
                "",
                said if not wrong else f"WRONG: {wrong}",
                "",
                *table,
                "",
            ]
        )
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
