"""The kernel for very many small tables finds what the solver finds."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import slow_truth as slow
from decision_tables import problem_from
from hypothesis import given, settings, strategies as st

from arboretum.api import Context, DataError, Family
from arboretum_decision_tables.complexities import COMPLEXITIES
from arboretum_decision_tables.exact.solver import SubtableDP
from arboretum_decision_tables.exact.space import space_of
from arboretum_decision_tables.paper.study import MINIMA as COSTS, Minima

BY_NAME = {cls.name: cls() for cls in COMPLEXITIES}


def distinct(seed: int, n: int, m: int, values: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Random distinct rows with random decisions."""
    generator = np.random.default_rng(seed)
    codes = np.unique(generator.integers(0, values, (n, m)), axis=0)
    codes = np.ascontiguousarray(generator.permutation(codes), np.uint8)
    return codes, generator.integers(0, classes, len(codes))


def proven(codes: np.ndarray, label: np.ndarray) -> list[float]:
    """The same minima from the solver's graph."""
    problem = problem_from(codes, label, [Family.multiway] * codes.shape[1])
    found = SubtableDP().minima(problem, [BY_NAME[name] for name in COSTS], Context())
    return [solution.value for solution in found]


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 7),
    st.integers(1, 5),
    st.integers(2, 5),
    st.integers(1, 4),
)
def test_tiny_tables_have_the_minima_of_the_slow_recursion(seed, n, m, values, classes):
    codes, label = distinct(seed, n, m, values, classes)
    space = space_of(problem_from(codes, label, [Family.multiway] * m))
    graph = slow.delta(space)
    expected = [
        slow.minima(space, BY_NAME[name], graph)[frozenset(range(len(codes)))] for name in COSTS
    ]
    assert Minima().of(codes, label).tolist() == expected


@pytest.mark.parametrize(
    ("n", "m", "values", "classes"),
    [(50, 10, 3, 3), (64, 6, 4, 2), (64, 8, 2, 5), (40, 12, 2, 40), (64, 4, 9, 3), (3, 21, 8, 3)],
)
def test_tables_as_large_as_the_papers_have_the_minima_that_the_solver_proves(
    n, m, values, classes
):
    solver = Minima(nodes=64)
    for seed in range(4):
        codes, label = distinct(seed, n, m, values, classes)
        assert solver.of(codes, label).tolist() == proven(codes, label)


def test_tables_that_it_cannot_do_are_refused():
    codes, label = distinct(0, 80, 6, 4, 2)
    with pytest.raises(DataError, match="more than 64; use solver subtable_dp"):
        Minima().of(codes, label)
    with pytest.raises(DataError, match="merge them first"):
        Minima().of(np.zeros((2, 3), np.uint8), np.array([0, 1]))
    with pytest.raises(DataError, match="needs more than 64 bits"):
        Minima().of(
            np.full((2, 30), 9, np.uint8) - np.arange(2, dtype=np.uint8)[:, None], np.array([0, 1])
        )


def test_python_adds_little_per_table():
    """Calls of Python and of C: each costs a fraction of a microsecond, and a table's minima a
    hundred.
    """
    solver, codes, label = Minima(), np.array([[0], [1]], np.uint8), np.array([0, 1])
    solver.of(codes, label)
    calls = []
    sys.setprofile(
        lambda frame, event, argument: calls.append(event) if event.endswith("call") else None
    )
    try:
        solver.of(codes, label)
    finally:
        sys.setprofile(None)
    assert len(calls) < 10
