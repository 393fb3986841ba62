"""``method.max_features``: some columns compete at a node, and one more at a time until there is
a test.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

from arboretum.api import CapabilityError, Context, Prices, grow
from arboretum.engine.search.growth import Growth
from arboretum.engine.why import reasons
from arboretum.model.encoded import Family
from arboretum.sklearn import TreeClassifier
from arboretum_basics.methods import Greedy
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of

SEEDS = range(400)


def objects(columns: int = 3, raw: int = 3, n: int = 60, bins: int = 3, seed: int = 0):
    """Coded columns c0, …, and raw ones r0, …, of noise."""
    generator = np.random.default_rng(seed)
    codes, numbers = (
        generator.integers(0, bins, (n, columns)).astype(np.uint16),
        generator.normal(size=(n, raw)),
    )
    return encode(
        codes, [bins] * columns, [Family.multiway] * columns, numbers, generator.integers(0, 2, n)
    )


def tree_of(data, seed: int, most: int | None, **limits):
    return grow(
        problem_of(data, Reduction(), Gini(), **limits), Context(seed), max_features=most
    ).tree


@pytest.mark.parametrize("bins", [3, 5000])
def test_of_all_columns_it_is_the_tree_without(bins):
    data = objects(bins=bins, n=200)
    without, whole = tree_of(data, 1, None), tree_of(data, 1, 6)
    assert whole == without
    assert tree_of(data, 1, 2) == tree_of(data, 1, 2) != without


def test_each_node_takes_the_best_test_of_the_columns_that_it_drew():
    """The root, by brute force: the tree of a table that has these columns alone has the same
    test.
    """
    data = objects()
    for seed in range(40):
        growth = Growth.of(
            problem_of(data, Reduction(), Gini(), max_depth=1), Context(seed), False, max_features=2
        )
        drawn = np.flatnonzero(growth.space.draw.are_drawn(growth.root(), np.arange(6)))
        assert len(drawn) == 2
        coded, raw = [int(c) for c in drawn if c < 3], [int(c) - 3 for c in drawn if c >= 3]
        codes = data.codes[:, coded]
        alone = encode(
            codes,
            [3] * len(coded),
            [Family.multiway] * len(coded),
            data.raw[:, raw],
            data.table.target.codes,
        )
        ours, theirs = growth.run("depth"), tree_of(alone, 0, None, max_depth=1)
        assert ours.score == pytest.approx(theirs.score[0], rel=1e-12)


def test_every_column_is_drawn_as_often():
    """Of 400 seeds each of six columns competes at the root in a third; five standard deviations
    of a binomial are allowed.
    """
    growths = [
        Growth.of(problem_of(objects(), Reduction(), Gini()), Context(seed), False, max_features=2)
        for seed in SEEDS
    ]
    often = sum(
        growth.space.draw.are_drawn(growth.root(), np.arange(6)).astype(int) for growth in growths
    )
    share, n = 1 / 3, len(SEEDS)
    assert np.abs(often - n * share).max() <= 5 * math.sqrt(n * share * (1 - share))


def test_where_the_columns_drawn_have_no_test_one_more_competes():
    """All columns but one are constant: the tree is that of this column, whatever is drawn."""
    data = objects()
    codes, raw = np.zeros_like(data.codes), np.zeros_like(data.raw)
    raw[:, 1] = data.raw[:, 1]
    data = encode(codes, [3] * 3, [Family.multiway] * 3, raw, data.table.target.codes)
    assert tree_of(data, 5, 1) == tree_of(data, 5, None)


def test_a_column_that_is_free_by_now_competes_no_more_often_than_others():
    """Once asked a column costs nothing; that must not let it in where it was not drawn."""
    data = objects(columns=4, raw=0, bins=5, n=400)
    data = encode(
        data.codes, [5] * 4, [Family.equals] * 4, np.zeros((400, 0)), data.table.target.codes
    )
    prices = Prices(
        np.ones(sum(f.n_tests for f in data.features)), np.zeros(0), once_per_column=True
    )
    problem = attrs.evolve(problem_of(data, Reduction(), Gini()), prices=prices)
    growth = Growth.of(problem, Context(2), False, max_features=1)
    item = growth.evaluate(growth.root())
    growth.score(item)
    for child in growth.split_node(item):
        growth.score(child)
        position = next(
            i
            for i in range(4)
            if f"c{i}" in child.candidate.engine.columns(child.cell, child.candidate)
        )
        assert growth.space.draw.are_drawn(child.cell, np.array([position])).all()


def test_why_grows_again_with_the_same_draws():
    problem = problem_of(objects(n=200), Reduction(), Gini())
    problem = attrs.evolve(
        problem, parts=attrs.evolve(problem.parts, method=Greedy(max_features=2))
    )
    tree = problem.parts.method.fit(problem, Context(9)).tree
    for node in np.flatnonzero(~tree.is_leaf):
        candidates = reasons(problem, tree, node, 9).candidates
        assert (
            max(one.score for one in candidates) == pytest.approx(tree.score[node], rel=1e-9)
            and sum(one.chosen for one in candidates) == 1
        )


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"missing": "fractional"}, "knows no max_features"),
        ({"predicate": "random"}, "leave method.max_features out"),
    ],
)
def test_tests_that_are_not_of_one_column_are_refused_by_name(other, message):
    x = np.array([[np.nan], *([value] for value in range(59))])
    with pytest.raises(CapabilityError, match=message):
        TreeClassifier(max_features=1, **other).fit(x, np.arange(60) % 2)
