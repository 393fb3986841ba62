"""Naive twins of both search engines: plain Python, every test tried, every table counted object by
object.

Nothing here is shared with the search loop but the contracts.  A node is the list of its objects.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.api import Encoded, Family, Limits, Node, Prices, Tables, Task, Tree
from arboretum.testing.oracles import coverage_of, gain_of, own_columns

Assignment = dict[int, int]
"""Object → outcome."""


@attrs.frozen
class NaiveTest:
    """A candidate test at a node.

    key : ("coded", feature, index) or ("raw", feature, threshold).
    outcome_of : object → outcome, missing rows sent.
    """

    key: tuple[str, int, float]
    side: int
    outcome_of: Assignment
    arity: int
    price: float


def value_rows(
    objects: Encoded, rows: Sequence[int], feature: int, raw: bool
) -> tuple[list[int], list[int]]:
    """The objects with a known value of a feature, and those without."""
    if raw:
        missing = [i for i in rows if math.isnan(objects.raw[i, feature])]
    else:
        missing = [
            i for i in rows if int(objects.codes[i, feature]) == objects.features[feature].n_bins
        ]
    gone = set(missing)
    return [i for i in rows if i not in gone], missing


def coded_outcomes(
    objects: Encoded, known: Sequence[int], feature: int
) -> Iterator[tuple[int, int, Assignment]]:
    """(index, arity, outcomes of the known rows) of every test of a coded feature."""
    spec = objects.features[feature]
    code = {i: int(objects.codes[i, feature]) for i in known}
    if spec.family is Family.multiway:
        yield 0, spec.n_bins, code
    elif spec.family is Family.thresholds:
        for k in range(spec.n_bins - 1):
            yield k, 2, {i: int(c > k) for i, c in code.items()}
    else:
        for k in range(spec.n_bins):
            yield k, 2, {i: int(c != k) for i, c in code.items()}


def raw_outcomes(
    objects: Encoded, known: Sequence[int], feature: int
) -> Iterator[tuple[float, int, Assignment]]:
    """(threshold, 2, outcomes) of every midpoint between neighbouring values further apart than
    ``objects.gap``; and of ∞: known values.
    """
    dtype = objects.raw.dtype.type
    values = sorted({dtype(objects.raw[i, feature]) for i in known})
    gap = dtype(objects.gap)
    for low, high in itertools.pairwise(values):
        if not high > low + gap:
            continue
        middle = float(low) / 2.0 + float(high) / 2.0
        threshold = float(low) if not middle < high else middle
        yield threshold, 2, {i: int(float(objects.raw[i, feature]) > threshold) for i in known}
    yield math.inf, 2, dict.fromkeys(known, 0)


def naive_tests(
    objects: Encoded,
    prices: Prices,
    rows: Sequence[int],
    min_leaf: int = 1,
    asked: frozenset[str] = frozenset(),
    min_mass: float = 0.0,
    left: Fraction | None = None,
) -> list[NaiveTest]:
    """All tests that may compete at the node with these objects.

    left : what the path can still pay; None: anything.
    """
    least = Limits(min_mass=min_mass).min_weight(math.fsum(objects.weight), objects.n_objects)
    found = []
    offset = objects.test_offset
    for raw, features in ((False, objects.features), (True, objects.raw_features)):
        for f, feature in enumerate(features):
            known, missing = value_rows(objects, rows, f, raw)
            free = prices.once_per_column and feature.column in asked
            tests = (raw_outcomes if raw else coded_outcomes)(objects, known, f)
            for index, arity, outcome in tests:
                parted = raw and index == math.inf and known and missing
                if len(set(outcome.values())) < 2 and not parted:
                    continue
                here = prices.at(asked)
                price = (
                    0.0
                    if free
                    else float(here.raw[f] if raw else here.tests[offset[f] + int(index)])
                )
                if left is not None and Fraction(str(price)) > left:
                    continue
                multiway = not raw and feature.family is Family.multiway
                sides = [1] if parted else _sides(objects, outcome, missing, arity, multiway)
                for side in sides:
                    whole = {**outcome, **dict.fromkeys(missing, side)}
                    sizes = [
                        sum(int(objects.count[i]) for i, o in whole.items() if o == k)
                        for k in range(arity)
                    ]
                    if all(size == 0 or size >= min_leaf for size in sizes) and _heavy(
                        objects, whole, least
                    ):
                        found.append(
                            NaiveTest(
                                ("raw" if raw else "coded", f, index), side, whole, arity, price
                            )
                        )
    return found


def _heavy(objects: Encoded, outcome_of: Assignment, least: float) -> bool:
    """Whether every outcome that has objects weighs ``least``."""
    present = set(outcome_of.values())
    return all(
        math.fsum(objects.weight[i] for i, o in outcome_of.items() if o == k) >= least
        for k in present
    )


def _sides(
    objects: Encoded, outcome: Assignment, missing: Sequence[int], arity: int, multiway: bool
) -> list[int]:
    if not missing:
        return [-1]
    if not multiway:
        return [0, 1]
    mass = [
        math.fsum(float(objects.weight[i]) for i, o in outcome.items() if o == k)
        for k in range(arity)
    ]
    return [max(range(arity), key=lambda k: mass[k])]


def table_of(
    objects: Encoded, rows: Sequence[int], shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Class weights (or moments about ``shift``) and counts of some objects."""
    if objects.task is Task.regression:
        weights, counts = np.zeros(3), np.zeros(1, np.int64)
        for i in rows:
            w, y = float(objects.weight[i]), float(objects.y[i]) - shift
            weights += (w, w * y, w * y * y)
            counts[0] += int(objects.count[i])
        return weights, counts
    weights, counts = np.zeros(objects.n_classes), np.zeros(objects.n_classes, np.int64)
    for i in rows:
        weights[objects.label[i]] += float(objects.weight[i])
        counts[objects.label[i]] += int(objects.count[i])
    return weights, counts


def naive_scores(
    objects: Encoded,
    rows: Sequence[int],
    tests: Sequence[NaiveTest],
    score: Callable[[Tables, Node], np.ndarray],
    impurity: Any,
    depth: int = 0,
    criterion: Any = None,
    coverage: Sequence[Any] = (),
) -> tuple[list[float], Node]:
    """Score tests one by one with a criterion's NumPy form.

    criterion : what its own columns, ``counts_objects`` and ``needs_gain`` are taken from.
    coverage : the run's.
    """
    everyone = objects
    if getattr(criterion, "counts_objects", False):
        objects = attrs.evolve(objects, count=np.ones(objects.n_objects, np.int64))
    shift = (
        float(np.average(objects.y, weights=objects.weight))
        if objects.task is Task.regression
        else 0.0
    )
    weights, counts = table_of(objects, rows, shift)
    mass = float(weights[0] if objects.task is Task.regression else weights.sum())
    if impurity is None:
        level = math.nan
    elif hasattr(impurity, "of_values"):
        level = impurity.of_values(objects.y[list(rows)], objects.weight[list(rows)])
    else:
        level = float(impurity.value(weights))
    state, sizes = (
        coverage_of(coverage, objects, rows),
        (sum(int(everyone.count[i]) for i in rows), len(rows)),
    )
    node = Node(weights, counts, mass, float(objects.weight.sum()), level, depth, state, *sizes)
    own = dict(
        zip(
            rows,
            own_columns(criterion, node, objects, np.array(rows), impurity, coverage),
            strict=True,
        )
    )
    found = []
    for number, test in enumerate(tests):
        parts = [[i for i in rows if test.outcome_of[i] == k] for k in range(test.arity)]
        tables = [table_of(objects, part, shift) for part in parts]
        none = np.zeros_like(own[rows[0]])
        extra = np.array([[sum((own[i] for i in part), none) for part in parts]]).reshape(
            1, test.arity, len(none)
        )
        gain = None
        if coverage and getattr(criterion, "needs_gain", False):
            gain = np.array([gain_of(coverage, objects, rows, test.outcome_of, test.arity)])
        if hasattr(impurity, "of_values"):
            costs = [_deviation(objects, part, impurity) for part in parts]
            extra = np.array(costs).reshape(1, test.arity, 1)
        batch = Tables(
            np.array([[t[0] for t in tables]]),
            np.array([[t[1] for t in tables]]),
            np.array([test.price]),
            extra,
            np.array([number]),
            getattr(impurity, "value", None),
            "prefix" if hasattr(impurity, "of_values") else getattr(impurity, "scale", "mean"),
            gain,
        )
        found.append(float(score(batch, node)[0]))
    return found, node


def _deviation(objects: Encoded, part: list[int], impurity: Any) -> float:
    if not part:
        return 0.0
    y, w = objects.y[part], objects.weight[part]
    return float(w.sum()) * impurity.of_values(y, w)


def check_tree(
    tree: Tree,
    objects: Encoded,
    prices: Prices,
    score: Callable[[Tables, Node], np.ndarray],
    impurity: Any,
    min_leaf: int = 1,
    tolerance: float = 1e-9,
    min_mass: float = 0.0,
    criterion: Any = None,
    coverage: Sequence[Any] = (),
    budget: Fraction | None = None,
) -> None:
    """Walk a fully grown tree: at every inner node the chosen test exists, its score is the
    highest, its children are right; a leaf is pure or has no test.

    criterion, coverage : as for :func:`naive_scores`.
    budget : of a path; prices are read as the decimals that they print as.
    tolerance : relative to the larger of 1, |score| and the node's impurity.

    Raises AssertionError saying where.
    """
    stack: list[tuple[int, list[int], int, frozenset[str], Fraction | None]] = [
        (0, list(range(objects.n_objects)), 0, frozenset(), budget)
    ]
    row_of = np.full(objects.n_objects, -1)
    row_of[objects.object_of_row] = np.arange(len(objects.object_of_row))
    while stack:
        v, rows, depth, asked, left = stack.pop()
        assert left is None or left >= 0, f"node {v}: {-left} more than the budget"
        assert int(tree.counts[v]) == sum(int(objects.count[i]) for i in rows), f"node {v}: counts"
        if tree.is_leaf[v]:
            _check_leaf(objects, prices, rows, min_leaf, asked, v, min_mass, left)
            continue
        tests = naive_tests(objects, prices, rows, min_leaf, asked, min_mass, left)
        scores, node = naive_scores(
            objects, rows, tests, score, impurity, depth, criterion, coverage
        )
        rule = tree.rule(v)
        outcome = rule.outcomes(objects.table, row_of[rows])
        outcome = np.where(outcome < 0, tree.missing_child[v], outcome)
        best = max(scores)
        slack = tolerance * max(
            1.0, abs(best), abs(node.impurity) if not math.isnan(node.impurity) else 0.0
        )
        assert tree.score[v] >= best - slack, (
            f"node {v}: {rule.describe()} scores {tree.score[v]}, the best is {best}"
        )
        same = [
            s
            for t, s in zip(tests, scores, strict=True)
            if [t.outcome_of[i] for i in rows] == outcome.tolist()
        ]
        assert same, f"node {v}: {rule.describe()} is no candidate"
        assert min(abs(s - tree.score[v]) for s in same) <= slack, (
            f"node {v}: score {tree.score[v]}, recomputed {same}"
        )
        children = tree.children(v)
        for k in range(rule.arity):
            part = [i for i, o in zip(rows, outcome, strict=True) if o == k]
            assert bool(part) == (children[k] >= 0), (
                f"node {v}: outcome {k} has {len(part)} objects"
            )
            if part:
                rest = (
                    None
                    if left is None
                    else left - Fraction(str(tree.edge_price[tree.child_offset[v] + k]))
                )
                stack.append((int(children[k]), part, depth + 1, asked | set(rule.columns), rest))


def _check_leaf(
    objects: Encoded,
    prices: Prices,
    rows: list[int],
    min_leaf: int,
    asked: frozenset[str],
    node: int,
    min_mass: float,
    left: Fraction | None,
) -> None:
    target = objects.y if objects.task is Task.regression else objects.label
    pure = len({float(target[i]) for i in rows}) == 1
    found = [] if pure else naive_tests(objects, prices, rows, min_leaf, asked, min_mass, left)
    assert not found, f"node {node}: a leaf that could be divided"
