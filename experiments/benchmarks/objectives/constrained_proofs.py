"""What a proof of a constrained tree takes: to search, to write and to check; and what several
multipliers at once are worth.

    ARBORETUM_DATA=… python experiments/benchmarks/objectives/constrained_proofs.py

All rows, limits as the table says, at most 60 s for the search; then the proof is written, and
checked as `arboretum verify` does it, in the same process.  Seconds of the processor, kernels
loaded before.  A proof shows the value ("yes"), what the search had proven when its time was over
("as searched"), or less than that, with a note.

The second table takes the pairs of groups and rates one at a time, and keeps the best bound; then
several at once, as the solver does; both before any tree is gone through.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path
from unittest import mock

HERE = Path(__file__).parent
LIMIT = 60
TABLES = {
    "compas-binary": ("", "sex_female", "increasing=[priors_gt_3],decreasing=[age_lt_21]"),
    "fico-binary": ("", "Delinquency_lt_0.55", "increasing=[ExternalRiskEstimate_lt_0.49]"),
    "tic-tac-toe": ("", "middle_middle_square", ""),
    "mammography": ("encoder=bins", "shape", "increasing=[age,bi_rads]"),
    "car-gosdt": ("", "a6_low", "increasing=[a6_low],decreasing=[a1_high]"),
    "monk2-full": ("", "a5", "increasing=[a3]"),
    "bar-7": ("", "passanger2", "increasing=[Bar3],decreasing=[age6]"),
    "pima": ("encoder=bins", "", "increasing=[glucose,mass]"),
}
SEVERAL = (
    ("mammography", "encoder=bins", "shape", (0.3, 1.0)),
    ("mammography", "encoder=bins", "shape", (0.3, 0.3)),
    ("mammography", "encoder=bins", "density", (0.1, 1.0)),
    ("mammography", "encoder=bins", "density", (0.1, 0.1)),
    ("tic-tac-toe", "", "middle_middle_square", (0.1, 0.1)),
    ("compas-binary", "", "sex_female", (0.05, 0.05)),
    ("balance-scale", "encoder=midpoints dataset.positive=L ", "left_weight", (0.1, 0.1)),
    ("monk3-full", "", "a2", (0.1, 0.1)),
    ("car", "encoder=onehot dataset.positive=unacc", "safety", (0.1, 0.1)),
)


def overrides(name: str, more: str, *fields: str, lam: float = 0.01) -> list[str]:
    """The command line of a run."""
    return [
        f"dataset={name}",
        "method=constrained",
        "split=none",
        f"objective.lam={lam}",
        f"budget.seconds={LIMIT}",
        *more.split(),
        *(f"solver.{field}" for field in fields),
    ]


def fields_of(constraint: str, sensitive: str, ordered: str) -> list[str]:
    """The solver's fields; none where a table has no such constraint."""
    if constraint == "monotone":
        return [one for one in ordered.replace("],", "] ").split() if one]
    if not sensitive:
        return []
    limits = {"parity": ["parity=0.1"], "opportunity": ["opportunity=0.1"]}
    limits["both"] = limits["parity"] + limits["opportunity"]
    return [f"sensitive={sensitive}", *limits[constraint]]


def proven(command: list[str], path: Path) -> dict:
    """A run with its proof: seconds of the search, of writing, of the check, and what it shows."""
    import arboretum
    from arboretum.errors import ArboretumError
    from arboretum.proof.check import check
    from arboretum.proof.format import read
    from arboretum_gosdt.solvers import constrained

    solve, write, times = constrained.Constrained.solve, constrained.prove_constrained, {}

    def timed_write(path, search, found, context):
        times["problem"], started = search.problem, time.process_time()
        try:
            return write(path, search, found, context)
        finally:
            times["write"] = time.process_time() - started

    def timed_solve(self, problem, context):
        started = time.process_time()
        try:
            return solve(self, problem, context)
        finally:
            times["solve"] = time.process_time() - started

    path.unlink(missing_ok=True)
    with (
        mock.patch.object(constrained, "prove_constrained", timed_write),
        mock.patch.object(constrained.Constrained, "solve", timed_solve),
    ):
        try:
            found = arboretum.run([*command, f"solver.proof={path}"]).solution
        except ArboretumError as error:
            return {"refused": str(error)}
    started = time.process_time()
    proof = read(path)
    accepted = check(proof, times["problem"])
    return {
        "search": times["solve"],
        "write": times["write"],
        "check": time.process_time() - started,
        "value": found.value,
        "bound": found.lower_bound,
        "shown": accepted.lower_bound,
        "records": proof.n_records,
        "bytes": path.stat().st_size,
    }


def bounds(command: list[str]) -> tuple[float, float, int, float, str]:
    """What one multiplier bounds, and several, and how many these are; value, and whether it is
    proven.
    """
    import arboretum
    from arboretum_gosdt.solvers import constrained
    from arboretum_gosdt.solvers.multipliers import Dual

    search_class, made, seen = constrained.ConstrainedSearch, Dual.__init__, {}
    best_lagrangian = search_class._best_lagrangian

    def bounded(self):
        known = self.least, self.cost_of_best, self.best, self.patience
        groups = [range(len(one.sizes)) for one in self.rates]
        pairs = [
            (r, g, h) for r, mine in enumerate(groups) for g, h in itertools.permutations(mine, 2)
        ]
        ones = []
        for pair in pairs:

            def only(dual, rates, losses, pair=pair):
                made(dual, rates, losses)
                kept = dual.pairs.index(pair)
                dual.pairs, dual.limits = [pair], dual.limits[[kept]]
                dual.best = dual.best[[kept]]

            with mock.patch.object(Dual, "__init__", only):
                best_lagrangian(self)
            ones.append(self.least)
            self.least, self.cost_of_best, self.best, self.patience = known
        found = best_lagrangian(self)
        of = self.found
        seen["one"], seen["several"] = (
            of.value(least + of.equivalent_cost) for least in (max(ones), self.least)
        )
        seen["n"] = len(found.name[2]) if found else 0
        return found

    with mock.patch.object(search_class, "_best_lagrangian", bounded):
        found = arboretum.run(command).solution
    return seen["one"], seen["several"], seen["n"], found.value, found.status.name


def main() -> None:
    """Run all, and write the tables."""
    lines, folder = [], tempfile.TemporaryDirectory()
    path = Path(folder.name) / "proof"
    for warm in ("parity", "monotone"):  # kernels of the search and of the checker
        proven(overrides("compas-binary", "", *fields_of(warm, *TABLES["compas-binary"][1:])), path)
    for name, (more, sensitive, ordered) in TABLES.items():
        for constraint in ("parity", "opportunity", "both", "monotone"):
            if not (fields := fields_of(constraint, sensitive, ordered)):
                continue
            found = proven(overrides(name, more, *fields), path)
            if "refused" in found:
                print(name, constraint, found["refused"], flush=True)
                continue
            shown = "less"
            if found["shown"] >= min(found["bound"], found["value"]) - 1e-9:
                shown = "yes" if found["shown"] >= found["value"] - 1e-9 else "as searched"
            lines.append(
                f"| {name} | {', '.join(fields)} | {found['search']:.2f} | {found['write']:.2f} | "
                f"{found['check']:.2f} | {found['records']:,} | {found['value']:.6f} | "
                f"{found['shown']:.6f} | {shown} |"
            )
            print(lines[-1], flush=True)
    worth = []
    for name, more, sensitive, (parity, opportunity) in SEVERAL:
        fields = [f"sensitive={sensitive}", f"parity={parity}", f"opportunity={opportunity}"]
        one, several, n, value, status = bounds(overrides(name, more, *fields))
        worth.append(
            f"| {name} | {', '.join(fields)} | {one:.6f} | {several:.6f} | {n} | {value:.6f} | "
            f"{'proven' if status == 'optimal' else 'best known'} |"
        )
        print(worth[-1], flush=True)
    text = [
        "# Proofs of constrained trees",
        "",
        *(__doc__ or "").strip().split("\n")[5:],
        "",
        "| table | constraints | search s | write s | check s | records | value | shown | "
        "is it the value? |",
        "|---|---|---|---|---|---|---|---|---|",
        *lines,
        "",
        "| table | constraints | bound of one multiplier | of several | how many | value | |",
        "|---|---|---|---|---|---|---|",
        *worth,
        "",
        "λ = 0.01; a busy machine.",
    ]
    (HERE / "constrained_proofs.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
