"""A bound that contradicts a tree of another complexity fails the run; a tree that reaches one
proves it.
"""

from __future__ import annotations

import attrs
import pytest
from decision_tables import random_problem

from arboretum.api import Context, Solution, Status, grow
from arboretum.engine.certificate import certify
from arboretum.errors import VerificationError
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini
from arboretum_decision_tables.complexities import COMPLEXITIES, AverageDepth, TotalPathLength
from arboretum_decision_tables.exact.solver import SubtableDP


@attrs.frozen
class ProvesOne:
    """Knows the minimum of the average depth, and a poor bound of all else."""

    kind = "solver"
    name = "proves_one"
    paper = ""
    capabilities = ("classification", "multiclass", "weights", "multiway")
    lie: float = 1.0

    def minima(self, problem, complexities, context):
        answers = SubtableDP().minima(problem, complexities, context)
        return [
            attrs.evolve(one, lower_bound=one.value * self.lie)
            if each.name == "average_depth"
            else Solution(one.tree, one.value, 0.9 * one.value, Status.feasible, finished=False)
            for each, one in zip(complexities, answers, strict=True)
        ]


def certified_by(certifier):
    problem = random_problem(5, 40, 6, values=2, classes=2)
    parts = attrs.evolve(problem.parts, criterion=Reduction(), impurity=Gini())
    problem = attrs.evolve(problem, parts=parts)
    solution = grow(problem, Context())
    return certify(
        certifier,
        [AverageDepth(), TotalPathLength(), *(cls() for cls in COMPLEXITIES[3:6])],
        solution.tree,
        problem,
        solution,
        {},
        Context(),
    )


def test_what_is_not_proven_stays_a_bound():
    certificate, notes = certified_by(ProvesOne())
    depth, length = (
        certificate.complexities[name] for name in ("average_depth", "total_path_length")
    )
    assert depth.proven and not length.proven
    assert length.lower_bound == pytest.approx(0.9 * length.best_known)
    assert any("total_path_length" in note for note in notes)


def test_bounds_that_contradict_a_tree_fail_the_run():
    with pytest.raises(VerificationError):
        certified_by(ProvesOne(lie=1.01))
