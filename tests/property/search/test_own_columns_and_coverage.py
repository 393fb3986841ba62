"""Criteria with a column of their own, that count objects, or that read coverage: kernel, loop
and slow twin agree.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    CapabilityError,
    Context,
    ContractError,
    Family,
    LeafRule,
    Limits,
    Node,
    Prices,
    Tables,
    Task,
    bulk,
    grow,
)
from arboretum.engine.why import reasons
from arboretum.kernels import column_kernel, criterion_kernel
from arboretum.testing.effort import examples
from arboretum.testing.oracles import coverage_of
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini, Variance

sys.path.insert(0, str(Path(__file__).parent))
from cover import ToyCover
from naive import check_tree
from problems import encode, encodeds, problem_of
from test_coded_subtrees_equal_the_loop import (
    ByObjects,
    assert_same,
    both,
    coded,
    unit,
)
from toy_coverage import ToyExcluded

EXAMPLES = examples(100)
ENTRIES = st.sampled_from([4, 20, 1 << 22])


@attrs.frozen
class Marked:
    """Most weight of marked objects in one outcome, for many rows elsewhere; few objects are
    marked.
    """

    share: float = 0.2
    counts_objects = True

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return weight if label <= 0 and weight > node.params[0] * node.mass / 4.0 else 0.0

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        most = total = 0.0
        objects = 0
        for o in range(weights.shape[0]):
            total += extra[o, 0]
            most = max(most, extra[o, 0])
            for k in range(counts.shape[1]):
                objects += counts[o, k] * counts[o, k]
        return 2.0 * most - total - 0.001 * price - 0.01 * objects


@attrs.frozen
class InNumPy(Marked):
    """The same rule without kernels."""

    counts_objects = True
    column = None

    def columns(self, node: Node, objects, rows: np.ndarray) -> np.ndarray:
        label = np.full(objects.n_objects, -1) if objects.label is None else objects.label
        seen = (label[rows] <= 0) & (objects.weight[rows] > self.share * node.mass / 4.0)
        return np.where(seen, objects.weight[rows], 0.0)[:, None]

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        own = tables.extra[..., 0]
        objects = (tables.counts.astype(float) ** 2).sum(axis=(1, 2))
        return 2.0 * own.max(axis=1) - own.sum(axis=1) - 0.001 * tables.price - 0.01 * objects


@attrs.frozen
class PerClass:
    """Rewards outcomes that keep the marks of one class together and objects of another apart;
    marks are heavy objects.
    """

    share: float = 0.2

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return weight * weight if weight > node.params[0] * node.mass / 4.0 else 0.0

    @staticmethod
    @criterion_kernel(column_by_class=True)
    def score(weights, counts, price, extra, node):
        found = 0.0
        for o in range(weights.shape[0]):
            for k in range(weights.shape[1]):
                found += (k + 1.0) * extra[o, k] * extra[o, k] / (1.0 + weights[o, k])
        return found - 0.001 * price


@attrs.frozen
class PerClassInNumPy(PerClass):
    """The same rule without kernels."""

    column = None

    def columns(self, node: Node, objects, rows: np.ndarray) -> np.ndarray:
        weight = objects.weight[rows]
        own = np.where(weight > self.share * node.mass / 4.0, weight * weight, 0.0)
        return own[:, None] * (objects.label[rows][:, None] == np.arange(len(node.weights)))

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        factor = np.arange(1, tables.weights.shape[2] + 1) / (1.0 + tables.weights)
        return (factor * tables.extra**2).sum(axis=(1, 2)) - 0.001 * tables.price


@attrs.frozen
class Otherwise(ToyExcluded):
    """The same function under another name, for which there is no kernel."""


@EXAMPLES
@given(objects=encodeds(), once=st.booleans(), seed=st.integers(0, 99))
def test_a_column_per_class_is_what_numpy_adds_up(objects, once, seed):
    """Over coded and raw columns, weights, prices and missing values."""
    prices = drawn_prices(objects, seed, once)
    fast, slow = (
        problem_of(objects, each, Gini(), prices, max_depth=6)
        for each in (PerClass(), PerClassInNumPy())
    )
    assert_same(grow(fast, Context()), grow(slow, Context()), exactly=False)


def test_a_column_per_class_is_refused_where_there_are_no_classes():
    numbers = encode(
        np.arange(3, dtype=np.uint8)[:, None],
        [3],
        [Family.multiway],
        np.empty((3, 0)),
        np.arange(3.0),
        Task.regression,
    )
    with pytest.raises(
        CapabilityError, match="wants a column per class, and the target is a number"
    ):
        grow(problem_of(numbers, PerClass(), Variance()), Context())


def drawn_prices(objects, seed: int, once: bool) -> Prices:
    generator = np.random.default_rng(seed)
    tests, raw = (
        generator.choice([0.0, 1.0, 2.0, 5.0], n)
        for n in (objects.test_offset[-1], len(objects.raw_features))
    )
    return Prices(tests, raw, once)


def with_coverage(problem, *coverage):
    return attrs.evolve(problem, parts=attrs.evolve(problem.parts, coverage=coverage))


@EXAMPLES
@given(
    objects=coded(),
    entries=ENTRIES,
    once=st.booleans(),
    constant=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_subtree_with_a_column_is_what_the_loop_grows(objects, entries, once, constant, seed):
    problem = problem_of(objects, Marked(), Gini(), drawn_prices(objects, seed, once), max_depth=6)
    fast, slow = both(problem, entries, constant=constant)
    assert_same(fast, slow, exactly=unit(objects))
    if not constant:
        plain = attrs.evolve(problem, parts=attrs.evolve(problem.parts, criterion=InNumPy()))
        assert_same(slow, grow(plain, Context()), exactly=False)


@EXAMPLES
@given(objects=coded(task=Task.regression), entries=ENTRIES)
def test_a_subtree_of_numbers_with_a_column_is_what_the_loop_grows(objects, entries):
    assert_same(*both(problem_of(objects, Marked(), Variance()), entries), exactly=False)


@EXAMPLES
@given(objects=encodeds(), once=st.booleans(), seed=st.integers(0, 99))
def test_raw_and_coded_tests_with_a_column_equal_the_naive_twin(objects, once, seed):
    prices = drawn_prices(objects, seed, once)
    tree = grow(problem_of(objects, Marked(), Gini(), prices), Context()).tree
    check_tree(tree, objects, prices, InNumPy().score, Gini(), criterion=InNumPy())


@EXAMPLES
@given(objects=coded(max_rows=14), entries=ENTRIES, seed=st.integers(0, 99))
def test_the_closed_form_of_a_gain_is_the_literal_sum(objects, entries, seed):
    criterion, prices = ToyCover(0.01, 0.001), drawn_prices(objects, seed, False)
    problem = with_coverage(problem_of(objects, criterion, Gini(), prices), ToyExcluded())
    fast, slow = both(problem, entries)
    assert_same(fast, slow, exactly=False)
    check_tree(
        fast.tree,
        objects,
        prices,
        criterion.score,
        Gini(),
        criterion=criterion,
        coverage=(ToyExcluded(),),
    )


@EXAMPLES
@given(objects=encodeds(max_rows=9), n=st.integers(1, 2), seed=st.integers(0, 99))
def test_a_gain_of_any_coverage_is_the_literal_sum_for_raw_and_coded_tests(objects, n, seed):
    criterion, prices, coverage = (
        ToyCover(0.01, 0.001),
        drawn_prices(objects, seed, False),
        (Otherwise(),) * n,
    )
    problem = with_coverage(problem_of(objects, criterion, Gini(), prices), *coverage)
    tree = grow(problem, Context()).tree
    check_tree(
        tree, objects, prices, criterion.score, Gini(), criterion=criterion, coverage=coverage
    )


@EXAMPLES
@given(objects=coded(), entries=ENTRIES, min_split=st.integers(2, 8), least=st.integers(0, 5))
def test_rows_and_objects_that_a_node_needs_hold_whatever_the_criterion_counts(
    objects, entries, min_split, least
):
    rule = ByObjects(LeafRule(min_split=min_split, min_objects=least))
    for criterion in (Marked(), Reduction()):
        problem = problem_of(objects, criterion, Gini())
        problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(rule,)))
        fast, slow = both(problem, entries)
        assert_same(fast, slow, exactly=unit(objects))
        tree = fast.tree
        passed = np.bincount(tree.apply(objects.table), minlength=tree.n_nodes)
        for v in range(tree.n_nodes - 1, 0, -1):
            passed[tree.parent[v]] += passed[v]
        inner = ~tree.is_leaf
        assert (tree.counts[inner] >= min_split).all() and (passed[inner] >= least).all()
        assert tree.counts[0] == objects.count.sum()


def table(count):
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]], np.uint8)
    families = [Family.multiway, Family.equals]
    return encode(
        codes, [3, 2], families, np.zeros((5, 0)), np.array([0, 1, 1, 0, 2]), count=np.array(count)
    )


def test_what_objects_stand_for_does_not_matter_to_a_criterion_that_counts_objects():
    one, many = (
        grow(problem_of(table(c), Marked(), Gini()), Context()).tree
        for c in ([1] * 5, [7, 1, 2, 5, 3])
    )
    assert one.n_nodes > 1 and one.rules == many.rules
    np.testing.assert_array_equal(one.score, many.score)
    assert (one.counts[0], many.counts[0]) == (5, 18)


def test_a_limit_on_rows_of_branches_is_refused_where_objects_stand_for_several_rows():
    with pytest.raises(
        CapabilityError, match=r"counts objects.*min_leaf=2.*stopping\.standard\.min_mass"
    ):
        grow(problem_of(table([2, 1, 1, 1, 1]), Marked(), Gini(), min_leaf=2), Context())
    assert (
        grow(problem_of(table([1] * 5), Marked(), Gini(), min_leaf=2), Context()).tree.counts.min()
        >= 2
    )


@attrs.frozen
class Covered:
    """A leaf rule that looks at the state of coverage."""

    name = "covered"
    needs_coverage = True
    enough: float = 0.7

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        return node.coverage >= self.enough


@EXAMPLES
@given(objects=coded())
def test_a_leaf_rule_may_look_at_the_coverage_of_a_node(objects):
    problem = with_coverage(problem_of(objects, Reduction(), Gini()), ToyExcluded(), Otherwise())
    problem = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=(Covered(),)))
    tree = grow(problem, Context()).tree
    at = tree.apply(objects.table)
    ends = [set(np.flatnonzero(at == v).tolist()) for v in range(tree.n_nodes)]
    for v in range(tree.n_nodes - 1, 0, -1):
        ends[tree.parent[v]] |= ends[v]
    for v in np.flatnonzero(~tree.is_leaf):
        assert coverage_of((ToyExcluded(), Otherwise()), objects, sorted(ends[v])) < 0.7 + 1e-9


def test_many_trees_in_one_call_have_no_columns_of_their_own():
    for criterion in (Marked(), PerClass()):
        with pytest.raises(CapabilityError, match="bulk growth .* criterion .*; use method=greedy"):
            bulk.Judges.of([(criterion, Gini())], 2)


@attrs.frozen
class Divides(Marked):
    """Divides by nothing in a node of two objects."""

    name = "divides"

    @staticmethod
    @column_kernel
    def column(weight, label, node):
        return 1.0 / (node.mass - 2.0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_column_that_is_not_finite_is_refused_by_name(compiled):
    with pytest.raises(
        ContractError, match="criterion 'divides': column must be finite.*node of mass 2"
    ):
        grow(problem_of(table([1] * 5), Divides(), Gini()), Context(), compiled=compiled)


@attrs.frozen
class Beyond(ToyExcluded):
    """Goes beyond 1, or answers in another shape."""

    name = "beyond"
    wrong: str = "range"

    def prepare(self, objects):
        return self

    def covered(self, objects, rows):
        return np.full(len(rows), 1.5) if self.wrong == "range" else np.zeros(len(rows) + 1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("range", "between 0 and 1; got 1.5"), ("shape", r"shape \[5\].*got float64\[6\]")],
)
def test_a_coverage_that_breaks_its_contract_is_named(wrong, said):
    problem = with_coverage(problem_of(table([1] * 5), ToyCover(), Gini()), Beyond(wrong))
    with pytest.raises(ContractError, match=f"coverage 'beyond'.*{said}"):
        grow(problem, Context())


@pytest.mark.parametrize(
    "coverage", [(ToyExcluded(),), (Otherwise(),), ()], ids=["kernel", "gain", "none"]
)
def test_why_scores_every_candidate_as_growth_did(coverage):
    """In NumPy by the literal gain, where the kernel had a closed form."""
    problem = with_coverage(problem_of(table([7, 1, 2, 5, 3]), ToyCover(0.01), Gini()), *coverage)
    tree = grow(problem, Context()).tree
    for v in np.flatnonzero(~tree.is_leaf).tolist():
        found = reasons(problem, tree, v, seed=0)
        assert found.candidates[0].rule == tree.rule(v) or found.candidates[
            0
        ].score == pytest.approx(tree.score[v])
        assert next(c for c in found.candidates if c.chosen).score == pytest.approx(tree.score[v])
