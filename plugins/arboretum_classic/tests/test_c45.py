"""C4.5: the criterion, and that the kernel grows what the loop grows."""

from __future__ import annotations

import attrs
import numpy as np
from hypothesis import given, settings, strategies as st

from arboretum.api import Column, ColumnKind, Context, Limits, Parts, Problem, Prices, Table, Target, Task, grow
from arboretum_classic.c45 import C45, C45Release8, C45Textbook
from arboretum_classic.c45_growth import Quinlan, _grown, _no_kernel
from arboretum_classic.impurities import Entropy
from arboretum_classic.missing import Fractional
from arboretum_data.encoding.encoder import DeclaredEncoder, Categorical
from arboretum_data.generated import play_tennis


def problem_of(table, criterion=C45(), encoder=DeclaredEncoder(), **more):
    objects = encoder.encode(table, table, raw_thresholds=True, seed=0)
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(len(objects.raw_features)))
    parts = Parts(method=Quinlan(**more), criterion=criterion, impurity=Entropy(), missing=Fractional(), encoder=encoder)
    return Problem(objects, prices, parts)


@st.composite
def tables(draw):
    """Two numbers and two nominal columns, of eighths and of three declared values, some cells empty, some rows with a weight."""
    n, seed = draw(st.integers(12, 60)), draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    gaps = draw(st.sampled_from([0.0, 0.2, 0.6]))
    numbers = [np.where(random.random(n) < gaps, np.nan, random.integers(0, 20, n) / 8) for _ in range(2)]
    names = [np.where(random.random(n) < gaps, -1, random.integers(0, 2 + k, n)) for k in range(2)]
    columns = [Column(f"x{k}", ColumnKind.continuous, values) for k, values in enumerate(numbers)]
    columns += [Column(f"c{k}", ColumnKind.categorical, codes, ("a", "b", "c")) for k, codes in enumerate(names)]
    label = (np.nan_to_num(numbers[0]) + names[1] + random.normal(0, draw(st.sampled_from([0.1, 1.0])), n) > 1.5) + (names[0] > 1)
    label[:2] = 0, 1
    weights = random.integers(1, 4, n) / 2.0 if draw(st.booleans()) else None
    order = random.permutation(4)
    return Table("drawn", tuple(columns[i] for i in order), Target("y", Task.classification, label.astype(np.int32), ("u", "v", "w")), weights)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([C45(), C45(min_objects=1.0), C45Release8(), C45Textbook()]), st.booleans())
def test_the_kernel_grows_the_tree_of_the_loop(table, criterion, binary):
    encoder = DeclaredEncoder(categorical=Categorical.onehot) if binary else DeclaredEncoder()
    problem = problem_of(table, criterion, encoder)
    assert list(_no_kernel(problem, Context())) == []
    one, other = _grown(problem)[0], grow(problem, Context()).tree
    assert one.rules == other.rules
    for name in ("test", "child", "missing_child"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    slack = 1e-12 * problem.objects.weight.sum()
    for name in ("weights", "counts", "impurity", "price"):
        assert np.abs(getattr(one, name) - getattr(other, name)).max() <= slack, name


def test_play_tennis_is_the_tree_of_the_book():
    tree = Quinlan().fit(problem_of(play_tennis()), Context()).tree
    assert [rule.describe() for rule in tree.rules] == ["outlook", "windy", "humidity"]
    assert (tree.n_nodes, tree.n_leaves) == (8, 5)
    assert tree.weights[tree.is_leaf].max(axis=1).tolist() == tree.mass[tree.is_leaf].tolist()
