"""Small decision tables of every family of tests, as problems for the solver."""

from __future__ import annotations

import attrs
import numpy as np
from hypothesis import strategies as st

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    Family,
    Feature,
    LeafRule,
    Limits,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
)
from arboretum.testing.tables import ToyFeature, ToyGini


@attrs.frozen
class Rule:
    """A stopping component that is the leaf rule it is given."""

    rule: LeafRule = LeafRule()
    kind = "stopping"
    name = "rule"

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node) -> bool:
        return self.rule.holds(
            node.mass, node.total_mass, node.count, node.impurity, node.n_objects
        )

    def leaf_rule(self) -> LeafRule:
        return self.rule


@attrs.frozen
class GiniInNumpy:
    """An impurity without a kernel."""

    kind = "impurity"
    name = "gini_in_numpy"

    def value(self, weights):
        return ToyGini().value(weights)


def feature_and_column(
    position: int, family: Family, n_bins: int, codes: np.ndarray
) -> tuple[Feature, Column]:
    name = f"x{position}"
    if family is Family.thresholds:
        edges = tuple(k + 0.5 for k in range(n_bins - 1))
        return ToyFeature(name, position, family, n_bins, edges=edges), Column(
            name, ColumnKind.continuous, codes.astype(float)
        )
    categories = tuple("abcdefghijkl"[:n_bins])
    return ToyFeature(name, position, family, n_bins, categories=categories), Column(
        name, ColumnKind.categorical, codes, categories
    )


def problem_from(
    codes: np.ndarray,
    label: np.ndarray,
    families,
    *,
    weight=None,
    count=None,
    prices=None,
    rule=LeafRule(),
    impurity=None,
    **parts,
) -> Problem:
    """codes : int[n, F]; families : one per column."""
    codes = np.asarray(codes)
    bins = [int(max(2, codes[:, f].max(initial=1) + 1)) for f in range(codes.shape[1])]
    pairs = [
        feature_and_column(f, family, bins[f], codes[:, f]) for f, family in enumerate(families)
    ]
    n_classes = int(max(2, label.max() + 1))
    target = Target(
        "y",
        Task.classification,
        np.asarray(label, np.int32),
        tuple(f"class {k}" for k in range(n_classes)),
    )
    weight = None if weight is None else np.asarray(weight, float)
    table = Table("drawn", tuple(column for _, column in pairs), target, weight)
    objects = Encoded(
        table=table,
        features=tuple(feature for feature, _ in pairs),
        codes=codes.astype(np.uint8),
        raw_features=(),
        raw=np.empty((len(codes), 0)),
        label=target.codes,
        y=None,
        weight=table.row_weights(),
        count=np.ones(len(codes), np.int64),
        object_of_row=np.arange(len(codes)),
    )
    n_tests = int(objects.test_offset[-1])
    price = np.ones(n_tests) if prices is None else np.resize(np.asarray(prices, float), n_tests)
    return Problem(
        objects,
        Prices(price, np.empty(0)),
        Parts(method=None, stopping=(Rule(rule),), impurity=impurity, **parts),
    )


@st.composite
def problems(
    draw: st.DrawFn,
    max_rows: int = 6,
    max_features: int = 3,
    rules: bool = True,
    whole: bool = False,
) -> Problem:
    """Tables with ties, contradictions, weights, prices and any leaf rule.

    whole : integers only, so that ties are ties.
    """
    n, m = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    families = draw(st.lists(st.sampled_from(Family), min_size=m, max_size=m))
    codes = np.array(
        draw(st.lists(st.lists(st.integers(0, 2), min_size=m, max_size=m), min_size=n, max_size=n))
    )
    label = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    weights = [1.0, 2.0, 3.0] if whole else [0.5, 1.0, 1.0, 2.25, 0.1]
    weight = draw(st.none() | st.lists(st.sampled_from(weights), min_size=n, max_size=n))
    prices = draw(
        st.none() | st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 5.0]), min_size=9, max_size=9)
    )
    rule = LeafRule()
    if rules:
        rule = draw(
            st.sampled_from(
                [
                    LeafRule(),
                    LeafRule(min_split=3),
                    LeafRule(theta=0.3),
                    LeafRule(delta=0.45),
                    LeafRule(2, 0.2, 0.5),
                    LeafRule(min_objects=3),
                    LeafRule(4, 0.1, min_objects=3),
                    LeafRule(theta=0.2, min_objects=4),
                ]
            )
        )
    return problem_from(
        codes, label, families, weight=weight, prices=prices, rule=rule, impurity=ToyGini()
    )


def repeated(problem: Problem, times: np.ndarray) -> Problem:
    """The same objects, each merged from that many equal rows."""
    objects = problem.objects
    place = np.repeat(np.arange(objects.n_objects), times)
    table = objects.table.take(place)
    weight = np.bincount(place, table.row_weights())
    objects = attrs.evolve(
        objects, table=table, object_of_row=place, count=np.asarray(times, np.int64), weight=weight
    )
    return attrs.evolve(problem, objects=objects)


def random_problem(
    seed: int, n: int, m: int, values: int = 3, classes: int = 3, families=None, **options
) -> Problem:
    """Uniform codes and classes."""
    generator = np.random.default_rng(seed)
    codes, label = generator.integers(0, values, (n, m)), generator.integers(0, classes, n)
    return problem_from(codes, label, families or [Family.multiway] * m, **options)
