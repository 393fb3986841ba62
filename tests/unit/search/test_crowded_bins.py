"""Where bounds rule too few bins out, columns are sorted from there on: the tree is that of the
presorted columns.
"""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Encoded,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
    grow,
)
from arboretum.engine.search import bounded
from arboretum_basics.stopping import Standard
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini

ROWS = 6000


def problem(raw, label, criterion, impurity, weight=None, **limits):
    n = len(label)
    names = [f"x{f}" for f in range(raw.shape[1])]
    columns = tuple(
        Column(name, ColumnKind.continuous, raw[:, f].copy()) for f, name in enumerate(names)
    )
    target = Target(
        "y", Task.classification, label.astype(np.int32), tuple(map(str, range(label.max() + 1)))
    )
    objects = Encoded(
        Table("noise", columns, target),
        (),
        np.zeros((n, 0), np.uint8),
        tuple(RawFeature(name, f) for f, name in enumerate(names)),
        raw,
        target.codes,
        None,
        np.ones(n) if weight is None else weight,
        np.ones(n, np.int64),
        np.arange(n),
    )
    rules = (Standard(max_depth=4, **limits),)
    prices = Prices(np.zeros(0), np.ones(raw.shape[1]))
    return Problem(
        objects, prices, Parts(method=None, criterion=criterion, impurity=impurity, stopping=rules)
    )


def columns_of_every_kind(generator, dtype):
    """Even, heavy-tailed, rounded, nearly constant with float32 neighbours that must not be
    separated, with gaps.
    """
    raw = np.empty((ROWS, 5), dtype)
    raw[:, 0] = generator.random(ROWS)
    raw[:, 1] = generator.standard_cauchy(ROWS) * 1e3
    raw[:, 2] = generator.random(ROWS).round(3)
    raw[:, 3] = np.float32(1) + np.float32(2.0**-23) * generator.integers(0, 4000, ROWS)
    raw[:, 4] = generator.normal(size=ROWS)
    raw[generator.random(ROWS) < 0.03, 4] = np.nan
    raw[:2, 1] = np.inf, -np.inf
    return raw


@pytest.mark.parametrize(
    ("criterion", "impurity", "weighted", "classes", "dtype"),
    [  # every pair of choices occurs; each combination is compiled for itself
        pytest.param(Reduction(), Gini(), False, 2, np.float32, marks=pytest.mark.slow),
        (Reduction(), Gini(), True, 3, np.float64),
        pytest.param(Reduction(), Gini(), True, 2, np.float32, marks=pytest.mark.slow),
        pytest.param(GainRatio(), Entropy(), False, 3, np.float32, marks=pytest.mark.slow),
        pytest.param(GainRatio(), Entropy(), True, 2, np.float64, marks=pytest.mark.slow),
        pytest.param(GainRatio(), Entropy(), False, 2, np.float64, marks=pytest.mark.slow),
    ],
)
def test_on_noise_the_tree_is_that_of_the_presorted_columns(
    criterion, impurity, weighted, classes, dtype, monkeypatch
):
    generator = np.random.default_rng(classes)
    raw, label = columns_of_every_kind(generator, dtype), generator.integers(0, classes, ROWS)
    weight = generator.integers(1, 5, ROWS) / 4 if weighted else None
    given = problem(raw, label, criterion, impurity, weight, min_leaf=20)
    monkeypatch.setattr(bounded, "CROWD", 0.04)
    quick = grow(given, Context(), compiled=False).tree
    monkeypatch.setattr(bounded, "MOST_CLASSES", 0)
    slow = grow(given, Context(), compiled=False).tree
    assert quick.n_nodes == slow.n_nodes > 3
    # sums of quarters are exact: the scores of both differ by the rounding of the criterion only
    np.testing.assert_allclose(quick.score, slow.score, rtol=1e-12)
    assert [rule.describe() for rule in quick.rules] == [rule.describe() for rule in slow.rules]
