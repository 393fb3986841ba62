"""The solver's proofs are accepted, and with one bound raised they are not."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from decision_tables import problem_from, problems, random_problem
from hypothesis import given, strategies as st

from arboretum.api import Context, LeafRule, VerificationError
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.proof.writing import ProofWriter
from arboretum.testing.effort import examples
from arboretum.testing.tables import ToyGini
from arboretum_decision_tables.complexities import COMPLEXITIES, Depth, Nodes, ZeroError
from arboretum_decision_tables.exact.solver import SubtableDP


class PlainNodes(Nodes):
    """A complexity whose F has no closed form."""

    name = "plain_nodes"
    form = None

    def __getattribute__(self, name):
        if name == "form":
            raise AttributeError(name)
        return super().__getattribute__(name)


def proven(problem, complexity, path):
    """The problem, its solution, and the log read again."""
    solver = SubtableDP(proof=str(path))
    problem = attrs.evolve(
        problem,
        parts=attrs.evolve(
            problem.parts, complexity=complexity, objective=ZeroError(), solver=solver
        ),
    )
    return problem, solver.solve(problem, Context()), read(path)


def raised(proof, number, problem, path):
    """The log again, with a higher bound in one record."""
    with ProofWriter(path, problem, tests=proof.header["tests"], unit=proof.unit) as log:
        for place, record in enumerate(proof.records()):
            higher = record.bound * 1.001 + 0.001 if place == number else record.bound
            log.record(record.path.tolist(), higher)
        log.close(proof.end["bound"], proof.end["value"], None)
    return read(path)


@examples(60)
@given(
    problems(max_rows=7),
    st.sampled_from([*(cls() for cls in COMPLEXITIES), PlainNodes()]),
    st.randoms(),
)
def test_a_proof_is_accepted_under_any_leaf_rule_and_no_longer_with_a_higher_bound(
    tmp_path_factory, problem, complexity, random
):
    path = tmp_path_factory.mktemp("proof") / "log"
    problem, solution, proof = proven(problem, complexity, path)
    found = check(proof, problem)
    assert found.lower_bound == pytest.approx(solution.value, rel=1e-9)
    assert found.value == pytest.approx(solution.value, rel=1e-9)
    number = random.randrange(proof.n_records)
    with pytest.raises(VerificationError, match=rf"^record {number} \("):
        check(raised(proof, number, problem, path), problem)


def test_a_proof_is_of_one_table_one_rule_and_one_price_list(tmp_path):
    codes, label = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    families = list(random_problem(0, 4, 2).objects.features)
    families = [feature.family for feature in families]
    problem, _, proof = proven(
        problem_from(codes, label, families, impurity=ToyGini()), Depth(), tmp_path / "log"
    )
    assert check(proof, problem).value == 2.0
    other, *_ = proven(
        problem_from(codes, 1 - label, families, impurity=ToyGini()), Depth(), tmp_path / "other"
    )
    with pytest.raises(VerificationError, match="the proof is of another table: sha256 is"):
        check(proof, other)
    loose = problem_from(codes, label, families, rule=LeafRule(delta=0.5), impurity=ToyGini())
    loose, *_ = proven(loose, Depth(), tmp_path / "loose")
    with pytest.raises(VerificationError, match=r"claims a bound of 1.0, but a leaf costs 0"):
        check(proof, loose)


def test_a_budget_that_the_graph_does_not_fit_leaves_no_proof_and_a_note(tmp_path):
    problem = random_problem(1, 60, 10, values=3)
    solver = SubtableDP(proof=str(tmp_path / "log"))
    parts = attrs.evolve(problem.parts, complexity=Nodes(), objective=ZeroError(), solver=solver)
    found = solver.solve(attrs.evolve(problem, parts=parts), Context(memory_bytes=30_000))
    assert not (tmp_path / "log").exists()
    assert any(note.startswith("no proof is written") for note in found.notes)
