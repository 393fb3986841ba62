"""Proofs of the solver are accepted, whichever search found the bound; what cannot be proven is said."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import Context, Limits, Parts, Problem, Table, Target, Task, Column, ColumnKind
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.testing.tables import prices_of, toy_objects
from arboretum_gosdt.objectives import Accuracy, Balanced, CostMatrix
from arboretum_gosdt.solver import Gosdt


@attrs.frozen
class Within:
    """Limits of a run."""

    kind, name = "stopping", "within"
    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: int = 1

    def limits(self) -> Limits:
        return Limits(self.max_depth, self.max_leaves, self.min_leaf)

    def leaf_rule(self):
        from arboretum.api import LeafRule

        return LeafRule()


def problem_of(seed, objective, classes=2, n=40, **limits):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, 5))
    y = ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(n) < 0.2)) + (classes > 2) * rng.integers(0, 2, n)
    columns = tuple(Column(f"x{f}", ColumnKind.categorical, values.astype(np.int32), ("a", "b")) for f, values in enumerate(x.T))
    table = Table("drawn", columns, Target("y", Task.classification, y.astype(np.int32), tuple("abc"[:classes])), None)
    objects = toy_objects(table, multiway=False)
    return Problem(objects, prices_of(objects), Parts(method=None, objective=objective, stopping=(Within(**limits),)))


def proven(problem, path, context=Context()):  # noqa: B008 - frozen
    solver = Gosdt(proof=str(path))
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, solver=solver))
    return solver.solve(problem, context), problem


CASES = [
    (Accuracy(lam=0.02), {}), (Accuracy(lam=0.01), {"max_depth": 3}), (Accuracy(lam=0.0), {"max_depth": 2}),
    (Balanced(lam=0.013), {}), (Accuracy(lam=0.01), {"min_leaf": 4}), (CostMatrix(lam=0.05, costs=[[0, 1], [3, 0.5]]), {}),
    (Accuracy(lam=0.0), {"max_leaves": 4}), (Accuracy(lam=0.01), {"max_leaves": 3, "max_depth": 3}), (Accuracy(lam=0.0), {"max_depth": 4}),
]  # fmt: skip


@pytest.mark.parametrize(("objective", "limits"), CASES, ids=lambda one: getattr(one, "name", str(one)))
@pytest.mark.parametrize("seed", range(3))
def test_the_proof_shows_the_value(objective, limits, seed, tmp_path):
    found, problem = proven(problem_of(seed, objective, **limits), tmp_path / "log")
    accepted = check(read(tmp_path / "log"), problem)
    assert accepted.lower_bound == pytest.approx(found.lower_bound)
    assert accepted.value == pytest.approx(found.value)


def test_three_classes(tmp_path):
    found, problem = proven(problem_of(1, Accuracy(lam=0.02), classes=3), tmp_path / "log")
    assert check(read(tmp_path / "log"), problem).lower_bound == pytest.approx(found.value)


def test_without_time_the_bound_that_is_known_is_proven(tmp_path):
    found, problem = proven(problem_of(2, Accuracy(lam=0.001), n=200), tmp_path / "log", Context(deadline=0.0))
    assert check(read(tmp_path / "log"), problem).lower_bound <= found.value


@pytest.mark.parametrize(("objective", "limits", "why"), [(Accuracy(mu=0.1), {}, "prices")])
def test_what_cannot_be_proven_is_said(objective, limits, why, tmp_path):
    found, _ = proven(problem_of(0, objective, **limits), tmp_path / "log")
    assert any(note.startswith("no proof is written: ") and why in note for note in found.notes)
    assert list(tmp_path.iterdir()) == []
