"""Bulk growth: the trees of ``grow``, the measures of those trees, and a check that finds what
is not true.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import CapabilityError, Context, ContractError, Family, Limits, Prices, grow
from arboretum.engine.search import bulk
from arboretum.errors import VerificationError
from arboretum.kernels import criterion_kernel
from arboretum.measure.complexity import complexities
from arboretum.testing.effort import examples
from arboretum_basics.stopping import Pure, Standard
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini

sys.path.insert(0, str(Path(__file__).parent))
from problems import encode, problem_of
from test_coded_subtrees_equal_the_loop import ByObjects, coded

PAIRS = [(Reduction(), Gini()), (Reduction(), Entropy()), (GainRatio(), None)]


def grown(objects, prices, pairs=PAIRS, stopping=()):
    light = bulk.Objects.of(objects, prices)
    return light, bulk.grow_many(light, bulk.Judges.of(pairs, light.n_classes), stopping)


@examples(150)
@given(objects=coded(), once=st.booleans(), seed=st.integers(0, 99), min_leaf=st.integers(1, 3))
def test_every_tree_is_the_one_that_grow_returns_with_the_same_measures(
    objects, once, seed, min_leaf
):
    drawn = np.random.default_rng(seed).choice([0.0, 1.0, 2.0, 5.0], int(objects.test_offset[-1]))
    prices = Prices(drawn, np.zeros(0), once)
    stopping = (ByObjects(least=Limits(min_leaf=min_leaf)),)
    light, forest = grown(objects, prices, stopping=stopping)
    wrong = bulk.check(forest, light)
    for k, (criterion, impurity) in enumerate(PAIRS):
        problem = problem_of(objects, criterion, impurity, prices=prices, min_leaf=min_leaf)
        expected = grow(problem, Context(), compiled=False).tree
        found = forest.tree(k, objects, light.layout)
        # sums of weights come in another order than in the loop: as in the tests of subtrees, a few
        # digits may differ
        assert found.rules == expected.rules
        for name in ("test", "child_offset", "child", "missing_child", "counts", "label", "price"):
            np.testing.assert_array_equal(
                getattr(found, name), getattr(expected, name), err_msg=name
            )
        values = complexities(found)
        np.testing.assert_allclose(
            forest.measures[k], [values[name] for name in bulk.MEASURES], rtol=1e-13
        )
        assert wrong[k] == pytest.approx(error_of(found), abs=1e-13)


def error_of(tree) -> float:
    """Share of weight outside the majority class of its leaf."""
    leaves = tree.weights[tree.is_leaf]
    return float((leaves.sum(axis=1) - leaves.max(axis=1)).sum() / tree.weights[0].sum())


def walked(forest, k, objects):
    """The measures of tree k, object by object, in plain Python: the slow twin of the check."""
    low, high = int(forest.start[k]), int(forest.start[k + 1])
    feature, index, side, parent, branch = (row[low:high].tolist() for row in forest.integers)
    child = {(parent[v], branch[v]): v for v in range(1, high - low)}
    layout = objects.layout
    n = len(objects.label)
    weight = np.ones(n) if objects.weight is None else objects.weight
    rests, asked, spent = [], [], []
    for i in range(n):
        v, path, paid = 0, [], 0.0
        while feature[v] >= 0:
            f = feature[v]
            code = int(objects.codes[i, layout.column[f]])
            known = int(layout.offset[f + 1] - layout.offset[f] - layout.has_missing[f])
            number = int(layout.family[f])
            o = (
                side[v]
                if code >= known
                else (code, int(code > index[v]), int(code != index[v]))[number]
            )
            free = objects.once and layout.owner[f] in [layout.owner[g] for g in path]
            paid += 0.0 if free else float(layout.prices[layout.price_offset[f] + index[v]])
            path.append(f)
            v = child[v, o]
        rests.append(v)
        asked.append(len(path))
        spent.append(paid)
    leaves = sum(f < 0 for f in feature)
    total = weight.sum()
    return {
        "depth": max(asked),
        "average_depth": weight @ asked / total,
        "total_path_length": weight @ asked,
        "n_nodes": len(feature),
        "n_leaves": leaves,
        "n_internal": len(feature) - leaves,
        "expected_cost": weight @ spent / total,
        "max_cost": max(spent),
    }, set(rests)


@examples(150)
@given(objects=coded(), once=st.booleans(), seed=st.integers(0, 99))
def test_the_measures_are_what_a_walk_of_every_object_finds(objects, once, seed):
    drawn = np.random.default_rng(seed).choice([0.0, 1.0, 2.0, 5.0], int(objects.test_offset[-1]))
    light, forest = grown(objects, Prices(drawn, np.zeros(0), once))
    for k in range(len(forest)):
        expected, rests = walked(forest, k, light)
        np.testing.assert_allclose(
            forest.measures[k], [expected[name] for name in bulk.MEASURES], rtol=1e-13
        )
        assert len(rests) == expected["n_leaves"]


@pytest.fixture
def forest_and_objects():
    generator = np.random.default_rng(1)
    codes = generator.integers(0, 3, (40, 6)).astype(np.uint8)
    objects = encode(
        codes, [3] * 6, [Family.multiway] * 6, np.zeros((40, 0)), generator.integers(0, 3, 40)
    )
    light, forest = grown(objects, Prices(np.ones(6), np.zeros(0)))
    assert (
        bulk.check(forest, light)
        == [error_of(forest.tree(k, objects, light.layout)) for k in range(3)]
    ).all()
    return forest, light


@pytest.mark.parametrize("measure", bulk.MEASURES)
def test_a_measure_that_is_not_true_is_found(forest_and_objects, measure):
    forest, light = forest_and_objects
    false = forest.measures.copy()
    false[1, bulk.MEASURES.index(measure)] *= 1 + 1e-9
    with pytest.raises(VerificationError, match=f"tree 1: reported {measure}"):
        bulk.check(attrs.evolve(forest, measures=false), light)


@pytest.mark.parametrize(("row", "to"), [(0, -1), (0, 5), (3, 1), (4, 2)])
def test_a_tree_that_was_tampered_with_is_found(forest_and_objects, row, to):
    """Another test, parent or branch at one of the nodes: the walk does not come to the same
    measures.
    """
    forest, light = forest_and_objects
    inner = np.flatnonzero(forest.integers[0, : forest.start[1]] >= 0)
    node = int(inner[1]) if row == 0 else int(forest.start[1]) - 1
    false = forest.integers.copy()
    assert false[row, node] != to
    false[row, node] = to
    with pytest.raises(VerificationError, match="tree 0"):
        bulk.check(attrs.evolve(forest, integers=false), light)


def test_a_light_layout_of_columns_gives_the_trees_of_encoded_objects():
    generator = np.random.default_rng(4)
    codes, label = generator.integers(0, 3, (50, 10)).astype(np.uint8), generator.integers(0, 3, 50)
    objects = encode(codes, [3] * 10, [Family.multiway] * 10, np.zeros((50, 0)), label, n_classes=3)
    _, expected = grown(objects, Prices(np.ones(10), np.zeros(0)))
    light = bulk.Objects(bulk.multiway_layout([3] * 10), codes, label.astype(np.uint8), 3)
    found = bulk.grow_many(light, bulk.Judges.of(PAIRS, 3), [Pure()])
    np.testing.assert_array_equal(found.integers, expected.integers)
    np.testing.assert_array_equal(found.measures, expected.measures)


@attrs.frozen
class OnlyNumpy:
    def score(self, tables, node):
        return np.zeros(tables.n_tests)


@attrs.frozen
class Nothing:
    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        return np.nan


def test_what_the_kernel_cannot_do_is_refused(forest_and_objects):
    _, light = forest_and_objects
    with pytest.raises(CapabilityError, match="needs kernels: criterion 'OnlyNumpy'"):
        bulk.Judges.of([(OnlyNumpy(), Gini())], 3)
    judges = bulk.Judges.of(PAIRS, 3)
    with pytest.raises(CapabilityError, match="knows no limit max_leaves"):
        bulk.grow_many(light, judges, [Standard(max_leaves=3)])
    with pytest.raises(ContractError, match="Nothing/Gini|Nothing/gini"):
        bulk.grow_many(light, bulk.Judges.of([(Nothing(), Gini())], 3))
    raw = encode(
        np.zeros((4, 0), np.uint8), [], [], np.arange(4.0).reshape(4, 1), np.array([0, 1, 0, 1])
    )
    with pytest.raises(CapabilityError, match="coded features"):
        bulk.Objects.of(raw, Prices(np.zeros(0), np.ones(1)))
