"""Small instances with exact numbers, and the same as encoded objects, tables and problems."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from definition_oracle import Instance
from hypothesis import strategies as st

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    Family,
    Node,
    Parts,
    Prices,
    Problem,
    Table,
    Tables,
    Target,
    Task,
)
from arboretum.engine.search.compiled_criterion import numeric_fields
from arboretum.kernels import KernelNode, adds_by_class
from arboretum.testing.tables import ToyFeature
from arboretum_regularized.criteria import Regularized

THETAS = (
    Fraction(0),
    Fraction(0),
    Fraction(1, 50),
    Fraction(1, 10),
    Fraction(1, 4),
    Fraction(1, 3),
    Fraction(1, 2),
)
WEIGHTS = st.sampled_from([1, 1, 1, 2, 3, 7])


@st.composite
def instances(
    draw: st.DrawFn,
    max_objects: int = 8,
    max_tests: int = 4,
    values: int = 3,
    thetas: Sequence[Fraction] = THETAS,
) -> Instance:
    """Distinct objects of two classes or more, with whole weights, prices from 1 to 4."""
    n_tests = draw(st.integers(2, max_tests))
    row = st.tuples(*[st.integers(0, values - 1)] * n_tests)
    rows = draw(st.lists(row, min_size=2, max_size=max_objects, unique=True))
    n = len(rows)
    weight = draw(st.lists(WEIGHTS, min_size=n, max_size=n))
    label = draw(
        st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(
            lambda found: len(set(found)) > 1
        )
    )
    price = draw(st.lists(st.integers(1, 4), min_size=n_tests, max_size=n_tests))
    p = [Fraction(w, sum(weight)) for w in weight]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return Instance(p, label, columns, [Fraction(c) for c in price], draw(st.sampled_from(thetas)))


def encoded(x: Instance, total: float = 0.0) -> Encoded:
    """The objects, one row each.

    total : weight of all of them; by default the least that makes weights whole.
    """
    scale = Fraction(total) if total else Fraction(np.lcm.reduce([p.denominator for p in x.p]))
    names = tuple("abcdefgh")
    columns, features, codes = [], [], []
    for d, values in enumerate(x.value):
        bins = max(max(values) + 1, 2)
        columns.append(
            Column(f"t{d}", ColumnKind.categorical, np.array(values, np.int32), names[:bins])
        )
        features.append(ToyFeature(f"t{d}", d, Family.multiway, bins, categories=names[:bins]))
        codes.append(values)
    label = np.array(x.label, np.int32)
    weight = np.array([float(p * scale) for p in x.p])
    target = Target(
        "y", Task.classification, label, tuple(str(k) for k in range(int(label.max()) + 1))
    )
    n = len(label)
    return Encoded(
        table=Table("instance", tuple(columns), target, weight),
        features=tuple(features),
        codes=np.array(codes, np.uint8).T.copy(),
        raw_features=(),
        raw=np.empty((n, 0)),
        label=label,
        y=None,
        weight=weight,
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )


def problem(x: Instance, parts: Parts, total: float = 0.0) -> Problem:
    """The instance with these parts."""
    return Problem(
        encoded(x, total), Prices(np.array([float(c) for c in x.price]), np.empty(0)), parts
    )


def contingency(
    x: Instance,
    objects: Encoded,
    part: Sequence[int],
    test: int,
    criterion: Any = None,
    impurity: Any = None,
    coverage: Sequence[Any] = (),
) -> tuple[Tables, Node]:
    """The table of one test at the node that holds ``part``, counted object by object."""
    weights = np.zeros((1, 3, objects.n_classes))
    counts = np.zeros((1, 3, objects.n_classes), np.int64)
    gain = np.zeros((1, 3))
    by_class = (
        adds_by_class(criterion.kernel(impurity, coverage))
        if isinstance(criterion, Regularized)
        else False
    )
    extra = np.zeros((1, 3, objects.n_classes if by_class else 1))
    mass, total = float(objects.weight[list(part)].sum()), float(objects.weight.sum())
    totals = np.zeros(objects.n_classes)
    for i in part:
        totals[x.label[i]] += objects.weight[i]
    level = np.nan if impurity is None else float(impurity.value(totals))
    node = Node(
        totals,
        np.bincount([x.label[i] for i in part], minlength=objects.n_classes),
        mass,
        total,
        level,
        1,
    )
    before = uncovered(objects, part, coverage)
    for k, below in enumerate(x.outcomes(part, test)):
        after = uncovered(objects, below, coverage)
        for place, i in enumerate(below):
            weights[0, k, x.label[i]] += objects.weight[i]
            counts[0, k, x.label[i]] += 1
            was = before[list(part).index(i)]
            gain[0, k] += objects.weight[i] * (was - after[place]) / was if was > 1e-12 else 0.0
            if criterion is not None and hasattr(criterion, "column"):
                column = x.label[i] if by_class else 0
                extra[0, k, column] += criterion.column(
                    objects.weight[i], x.label[i], kernel_node(criterion, node, impurity)
                )
    tables = Tables(
        weights,
        counts,
        np.array([float(x.price[test])]),
        extra,
        np.array([0]),
        getattr(impurity, "value", None),
        getattr(impurity, "scale", "mean"),
        gain if coverage else None,
    )
    return tables, node


def uncovered(objects: Encoded, part: Sequence[int], coverage: Sequence[Any]) -> np.ndarray:
    """float64[len(part)]: Π (1 − f)."""
    rows = np.array(part, np.int64)
    return (
        np.prod([1.0 - each.covered(objects, rows) for each in coverage], axis=0)
        if coverage
        else np.ones(len(rows))
    )


def kernel_node(criterion: Any, node: Node, impurity: Any = None) -> KernelNode:
    """The node as a kernel sees it."""
    of = (
        (lambda weights: np.nan)
        if impurity is None
        else lambda weights: float(impurity.value(weights))
    )
    return KernelNode(
        node.mass, node.total_mass, node.impurity, node.depth, 0.0, numeric_fields(criterion), of
    )
