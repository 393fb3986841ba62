"""A growth says which way it takes, and why not a faster one."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest

from arboretum.api import Context, Family, Prices, Task, grow
from arboretum.engine.search.growth import Growth
from arboretum_classic.criteria.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.criteria.impurities import AbsoluteError, Entropy, Gini, Variance

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of
from test_engines_equal_their_naive_twins import NumpyOnly

GENERATOR = np.random.default_rng(0)
RAW, CODES, LABEL = (
    GENERATOR.random((40, 2)),
    GENERATOR.integers(0, 3, (40, 2)).astype(np.uint8),
    GENERATOR.integers(0, 2, 40),
)
NONE, NO_CODES = np.zeros((40, 0)), np.zeros((40, 0), np.uint8)


def raw(target=LABEL, **more):
    return encode(NO_CODES, [], [], RAW, target, **more)


def coded(bins=3):
    return encode(CODES, [bins, 3], [Family.thresholds] * 2, NONE, LABEL)


def mixed(family=Family.equals):
    return encode(CODES, [3, 3], [family] * 2, RAW, LABEL)


class Strange:
    """A leaf rule that nobody knows to be one of objects alone."""

    name = "strange"

    def limits(self):
        return problem_of(raw(), None, None).parts.limits()

    def is_leaf(self, node):
        return node.depth > 1


def after(asked, paid):
    return Prices(np.zeros(0), np.full(2, 0.5))


REASONS = {
    "a criterion in NumPy": (
        problem_of(raw(), NumpyOnly(), Gini()),
        "criterion NumpyOnly has no kernel",
    ),
    "values of a node": (
        problem_of(raw(RAW[:, 0], task=Task.regression), Reduction(), AbsoluteError()),
        "computed from the values",
    ),
    "prices of paths": (
        problem_of(raw(), Reduction(), Gini(), Prices(np.zeros(0), np.ones(2), after=after)),
        "prices depend on the path or on the outcome",
    ),
    "a budget of leaves": (problem_of(raw(), Reduction(), Gini(), max_leaves=4), "max_leaves"),
    "a leaf rule of its own": (
        problem_of(coded(), Reduction(), Gini()),
        "stopping rule strange has no leaf_rule",
    ),
    "many codes": (problem_of(coded(5000), Reduction(), Gini()), "more than 4096 codes"),
}
RULES = {"a leaf rule of its own": Strange()}


@pytest.mark.parametrize("case", list(REASONS))
def test_a_growth_node_by_node_says_why_in_a_note(case):
    problem, reason = REASONS[case]
    if case in RULES:
        problem = attrs.evolve(
            problem,
            parts=attrs.evolve(problem.parts, stopping=(*problem.parts.stopping, RULES[case])),
        )
    growth = Growth.of(problem, Context(), False)
    growth.use_subtrees()
    assert growth.subtrees is None and not growth.plan.kernel
    assert any(reason in line for line in growth.plan.lines)
    notes = grow(problem, Context()).notes
    assert any(note.startswith("grown node by node") and reason in note for note in notes)


@pytest.mark.parametrize(
    "objects",
    [raw(), coded(), mixed(), mixed(Family.multiway), raw(RAW[:, 0], task=Task.regression)],
    ids=["raw", "coded", "mixed", "mixed multiway", "numbers"],
)
def test_where_kernels_grow_there_is_nothing_to_note(objects):
    problem = problem_of(objects, Reduction(), Variance() if objects.label is None else Gini())
    growth = Growth.of(problem, Context(deadline=math.inf), False)
    growth.use_subtrees()
    assert growth.subtrees is not None
    assert grow(problem, Context()).notes == ()
    assert "kernels grow subtrees" in growth.plan.lines[0]


def test_a_deadline_and_best_first_together_are_slow():
    problem = problem_of(raw(), Reduction(), Gini())
    assert (
        "budget.seconds"
        in grow(problem, Context(deadline=time.monotonic() + 1e9), order="best").notes[0]
    )


def test_whoever_asks_for_the_loop_is_told_nothing():
    assert (
        grow(
            problem_of(mixed(Family.multiway), Reduction(), Gini()), Context(), compiled=False
        ).notes
        == ()
    )


@pytest.mark.parametrize(
    "objects, criterion, impurity, reason",
    [
        (raw(RAW[:, 0], task=Task.regression), Reduction(), Variance(), "the target is a number"),
        (raw(np.arange(40) % 8), Reduction(), Gini(), "8 classes"),
        (raw(), RandomChoice(), Entropy(), "does not declare bounded_by_vertices"),
    ],
    ids=["numbers", "classes", "no promise"],
)
def test_columns_that_are_sorted_say_why_there_are_no_bins(objects, criterion, impurity, reason):
    lines = Growth.of(problem_of(objects, criterion, impurity), Context(), False).plan.lines
    assert "sorted raw columns" in lines[0] and any(
        line.startswith("no bins: ") and reason in line for line in lines[1:]
    )


def test_bounds_of_bins_are_used_where_the_criterion_declares_them():
    for criterion in (Reduction(), GainRatio()):
        assert (
            "bins of raw columns"
            in Growth.of(problem_of(raw(), criterion, Entropy()), Context(), False).plan.lines[0]
        )
