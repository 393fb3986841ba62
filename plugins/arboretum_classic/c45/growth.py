"""The recipe of C4.5: its growth by one kernel where the parts are C4.5's own, thresholds moved to
values of the data, subtrees that save no error collapsed.
"""

import enum
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    ColumnKind,
    Context,
    Encoded,
    Family,
    LeafRule,
    Limits,
    Problem,
    Solution,
    Status,
    Threshold,
    Tree,
    param,
    sure,
)
from arboretum_classic.c45.criterion import C45, SLACK, TOLERANCE

MOST_BRANCHES = 1 << 14  # of a test that the kernel knows; branches are counted in 16 bits
MOST_ROWS = 1 << 22  # that the words of a run can name
GAP = 1e-5  # values that lie closer are not separated by the programs
PASSES = 8  # over a run of a node, for a branch each; with more branches there is one pass for all
EPS = float(np.finfo(np.float64).eps)


class Cut(enum.Enum):
    """Where a number is cut between two neighbouring values of a node."""

    data = "data"
    """At the largest training value, of all rows, that is not above their midpoint (C4.5; J48 of
    Weka 3.9).
    """
    data_near = "data_near"
    """The same, a value within 1e-6 above the midpoint included (J48 of Weka 3.6)."""
    midpoint = "midpoint"


@attrs.frozen
class Quinlan:
    """Grow a tree as C4.5 does: greedily, thresholds at values of the data, subtrees that save no
    training error collapsed.

    Criterion c45 with missing=fractional grows in one kernel; other parts by the framework's loop,
    as ``greedy``.
    """

    kind = "method"
    name = "c45_or_j48"
    paper = "Quinlan 1993: C4.5: Programs for Machine Learning"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "missing",
        "prices",
        "multiway",
        "thresholds",
        "anytime",
    )
    needs = ("criterion",)
    asks_missing = True

    threshold: Cut = param(
        Cut.data,
        "where numbers are cut: data, data_near, or midpoint of the neighbours at the node",
    )
    collapse: bool = param(
        True,
        "a subtree with no fewer training errors than its root as a leaf becomes one (J48's "
        "-O leaves it out)",
    )
    laplace: bool = param(
        False, "class shares are predicted as (weight + 1)/(total + classes) (J48's -A)"
    )

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Return the tree, with its notes; a deadline is kept by the loop, so the kernel is left
        out then.
        """
        problem = self._with_gap(problem)
        reason = next(_reason_for_the_loop(problem, context), None)
        if reason is None:
            tree, values = _grow_by_kernel(problem)
            solution = Solution(
                tree, math.nan, math.nan, Status.feasible, tree.n_nodes - tree.n_leaves
            )
        else:
            from arboretum.api import grow

            solution, objects = grow(problem, context), problem.objects
            values = {
                f.column: np.unique(objects.raw[:, i].astype(float))
                for i, f in enumerate(objects.raw_features)
            }
        return attrs.evolve(
            solution,
            tree=self._finished(sure(solution.tree), problem.objects.n_objects, values),
            notes=(*_notes_on_gap(values, problem.objects.gap), *solution.notes),
        )

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels that :meth:`fit` will use."""
        if next(_reason_for_the_loop(problem, context), None) is None:
            some = np.linspace(
                0, problem.objects.n_objects - 1, min(problem.objects.n_objects, 64)
            ).astype(np.int64)
            _grow_by_kernel(attrs.evolve(problem, objects=problem.objects.take(np.unique(some))))
        else:
            from arboretum.api import warm_up

            warm_up(problem, lambda message: context.progress(0, None, message))

    def _with_gap(self, problem: Problem) -> Problem:
        """Return the problem as the programs read it, which take close values for equal."""
        if self.threshold is Cut.midpoint:
            return problem
        gap = max(problem.objects.gap, GAP)
        return attrs.evolve(problem, objects=attrs.evolve(problem.objects, gap=gap))

    def _finished(self, tree: Tree, n: int, values: Mapping[str, np.ndarray]) -> Tree:
        """Return the grown tree as the program leaves it: labels, thresholds at values, branches
        that save nothing collapsed.

        n : classes; values : column → its training values, ascending.
        """
        tree = attrs.evolve(tree, label=_first_majority(tree, n), prior=float(self.laplace))
        if self.threshold is not Cut.midpoint:
            tree = _move_thresholds_to_values(
                tree, values, TOLERANCE if self.threshold is Cut.data_near else 0.0
            )
        return tree.cut(_nodes_that_save_nothing(tree)) if self.collapse else tree


@attrs.frozen
class QuinlanTextbook(Quinlan):
    """``c45_or_j48`` with thresholds at midpoints and nothing collapsed."""

    name = "c45_as_told"
    threshold: Cut = param(
        Cut.midpoint,
        "where numbers are cut: data, data_near, or midpoint of the neighbours at the node",
    )
    collapse: bool = param(
        False,
        "a subtree with no fewer training errors than its root as a leaf becomes one (J48's "
        "-O leaves it out)",
    )


def _notes_on_gap(values: Mapping[str, np.ndarray], gap: float) -> Iterator[str]:
    """Yield a sentence per column with cuts that the programs' gap leaves out.

    values : column → its training values, ascending.   gap : less than GAP where the encoder's,
        which has notes of its own.
    """
    for column, own in values.items() if gap >= GAP else ():
        if close := int((~(own[1:] > own[:-1] + gap)).sum()):
            yield (
                f"column {column!r}: {close} of {len(own) - 1} cuts lie between values at most "
                f"{gap:g} apart, which C4.5 takes for equal; scale the column, or take "
                "method.threshold=midpoint"
            )


def _reason_for_the_loop(problem: Problem, context: Context) -> Iterator[str]:
    """Yield why the loop has to grow the tree."""
    objects = problem.objects
    parts = problem.parts
    prices = problem.prices
    limits = problem.parts.limits()
    positions = [feature.position for feature in objects.all_features]
    missing = parts.missing
    if not isinstance(parts.criterion, C45) or objects.is_regression:
        yield "another criterion"
    if (
        missing is None
        or missing.counted
        or not missing.discounted
        or hasattr(missing, "surrogates")
    ) or tuple(missing.placements(np.ones(2))) != (MISSING_SPLITS,):
        yield "another rule for missing values"
    if parts.predicate or parts.coverage:
        yield "predicate or coverage"
    if not prices.fixed or prices.once_per_column or limits != Limits(max_depth=limits.max_depth):
        yield "prices or limits"
    rules = [rule.leaf_rule() if hasattr(rule, "leaf_rule") else None for rule in parts.stopping]
    if any(rule is None or rule != LeafRule(min_split=rule.min_split) for rule in rules):
        yield "a leaf rule"
    if (
        context.deadline is not None
        or context.memory_bytes is not None
        or objects.n_objects > MOST_ROWS
    ):
        yield "a budget, or more rows than the kernel numbers"
    if len(set(positions)) < len(positions) or any(
        _tests_of_feature(objects, f) is None for f in range(len(objects.features))
    ):
        yield "tests that C4.5 does not ask"


def _tests_of_feature(objects: Encoded, f: int) -> int | None:
    """Return of coded feature f 0 for one test with a branch per value, else the number of "value k
    or not"; None for other tests, which the kernel does not know.
    """
    feature = objects.features[f]
    if feature.n_bins > MOST_BRANCHES:
        return None
    two = feature.family is Family.thresholds and feature.n_bins == 2
    if two and objects.table.columns[feature.position].kind is ColumnKind.categorical:
        return 1
    return {Family.multiway: 0, Family.equals: feature.n_bins}.get(feature.family)


def _grow_by_kernel(problem: Problem) -> tuple[Tree, dict[str, np.ndarray]]:
    """Return the tree by the kernel, before thresholds are moved, and the values of each number,
    ascending.
    """
    from arboretum_classic.c45 import kernels

    objects, limits = problem.objects, problem.parts.limits()
    criterion: Any = problem.parts.criterion
    rules: Sequence[Any] = problem.parts.stopping
    features = sorted(
        [
            *((f.position, 0, i) for i, f in enumerate(objects.features)),
            *((f.position, 1, i) for i, f in enumerate(objects.raw_features)),
        ]
    )
    n, classes = objects.n_objects, objects.n_classes
    number = np.array([raw for _, raw, _ in features], np.bool_)
    at = np.array([i for _, _, i in features], np.int64)
    counts = criterion.in_average(objects.levels, float(objects.weight.sum()))[
        [position for position, _, _ in features]
    ]
    bins = np.array([feature.n_bins for feature in objects.features], np.int64)
    tests = np.array([_tests_of_feature(objects, f) for f in range(len(bins))], np.int64)
    codes = np.ascontiguousarray(
        objects.codes, np.uint8 if bins.max(initial=0) < 256 else np.uint16
    )
    columns = kernels.Columns(number, at, counts, codes, np.cumsum([0, *(bins + 1)]), tests)
    pool, given, known, values = _sort_root(objects, kernels)
    logs = np.log2(np.maximum(np.arange(n + 1.0), 1.0))
    unit = (objects.weight == 1.0).all() and (objects.count == 1).all()
    full = not (codes == bins).any() and (known == n).all()
    given = given._replace(
        logs=logs if unit and full else logs[:0], weight=given.weight[: 0 if unit else n]
    )
    scratch = kernels.C45Scratch(
        np.empty(n),
        np.empty(n, np.int16),
        np.empty(n, np.int32),
        np.empty((PASSES, n), np.int32),
        np.empty((int((bins + 1).sum()), classes)),
        *np.empty((3, classes)),
    )
    root = kernels.Open(
        np.zeros(2, kernels.OPEN), np.array([known, known], np.int64), np.zeros((2, classes))
    )
    root.node[0]["high"], root.node[0]["parent"] = n, -1
    deepest = np.iinfo(np.int64).max if limits.max_depth is None else limits.max_depth
    bounds = kernels.Bounds(deepest, max((rule.leaf_rule().min_split for rule in rules), default=0))
    return _freeze_tree(
        problem,
        features,
        *kernels.grow_tree(pool, columns, given, criterion.rule, scratch, root, bounds),
    ), values


def _sort_root(
    objects: Encoded, kernels: Any
) -> tuple[Any, Any, np.ndarray, dict[str, np.ndarray]]:
    """Return (pool, rows, lengths of the runs) of the root, and each number's values, ascending.

    kernels : the module :mod:`arboretum_classic.c45.kernels`.
    """
    from arboretum.kernels.runs import rank_columns

    values = np.ascontiguousarray(objects.raw.T, float)
    width, n = values.shape
    order = np.empty((width, n), np.uint64)
    distinct = np.empty((width, n))
    reach = np.empty((width, n), np.int32)
    found = np.empty((width, 2), np.int64)
    rank_columns(
        values, values.view(np.uint64), objects.label, objects.gap, order, distinct, reach, found
    )
    pool = kernels.Pool(
        np.arange(n, dtype=np.int32), np.ones(n), order, np.empty(n, np.uint64), np.empty(n)
    )
    rows = kernels.Objects(
        objects.label.astype(np.uint16),
        objects.weight,
        objects.count.astype(float),
        np.zeros(0),
        distinct,
        reach,
        close=found[:, 1] > 0,
    )
    own = {f.column: distinct[i, : found[i, 0]] for i, f in enumerate(objects.raw_features)}
    return pool, rows, n - np.isnan(values).sum(axis=1), own


def _freeze_tree(
    problem: Problem, features: list[tuple[int, int, int]], nodes: np.ndarray, weights: np.ndarray
) -> Tree:
    """Freeze what the kernel found as a tree.

    features : (position, 1 raw or 0 coded, number) of each of its columns.
    nodes : NODE[nodes], in preorder.
    weights : float64[nodes, classes].
    """
    objects, prices, impurity = problem.objects, problem.prices, problem.parts.impurity
    rules: dict[Any, int] = {}
    seen: dict[tuple[int, float], int] = {}
    test = np.full(len(nodes), -1)
    price = np.zeros(len(nodes))
    inner = np.flatnonzero(nodes["column"] >= 0)
    offset = objects.test_offset.tolist()
    for v, c, place, at in zip(
        inner.tolist(),
        *(nodes[name][inner].tolist() for name in ("column", "bin", "cut")),
        strict=True,
    ):
        _, raw, f = features[c]
        index = 0 if not raw and objects.features[f].family is Family.multiway else place
        key = (c, at if raw else index)
        if key not in seen:
            rule = objects.raw_features[f].rule(at) if raw else objects.features[f].rule(index)
            seen[key] = rules.setdefault(rule, len(rules))
        test[v] = seen[key]
        price[v] = prices.raw[f] if raw else prices.tests[offset[f] + index]
    known = tuple(rules)
    arity = np.array([*(rule.arity for rule in known), 0])[test]
    offset = np.concatenate([[0], np.cumsum(arity)])
    child = np.full(offset[-1], -1)
    child[offset[nodes["above"][1:]] + nodes["outcome"][1:]] = np.arange(1, len(nodes))
    return Tree(
        task=objects.task,
        columns=tuple(column.spec for column in objects.table.columns),
        classes=objects.table.target.classes,
        rules=known,
        test=test,
        child_offset=offset,
        child=child,
        missing_child=np.where(test < 0, MISSING_STOPS, MISSING_SPLITS),
        weights=weights,
        counts=nodes["count"],
        label=weights.argmax(axis=1),
        value=np.full(len(nodes), np.nan),
        price=price,
        impurity=np.full(len(nodes), np.nan) if impurity is None else impurity.value(weights),
        score=nodes["score"],
    )


def _first_majority(tree: Tree, n: int) -> np.ndarray:
    """Return int64[nodes]: the first of the classes that weigh most, whatever the order in which
    shares of ``n`` rows were added up.
    """
    rounding = 2 * n * EPS * tree.mass[0] if (tree.missing_child == MISSING_SPLITS).any() else 0.0
    return np.asarray(
        (tree.weights >= tree.weights.max(axis=1, keepdims=True) - rounding).argmax(axis=1)
    )


def _move_thresholds_to_values(tree: Tree, values: Mapping[str, np.ndarray], near: float) -> Tree:
    """Return the tree with its thresholds moved down to training values, which parts no rows
    otherwise.

    values : column → its training values, ascending.
    near : so much above counts, too.
    """
    moved: dict[Any, int] = {}
    place = []
    for rule in tree.rules:
        if isinstance(rule, Threshold) and rule.column in values:
            known = values[rule.column]
            rule = attrs.evolve(
                rule,
                threshold=known[np.searchsorted(known, rule.threshold + near, side="right") - 1],
            )
        place.append(moved.setdefault(rule, len(moved)))
    return attrs.evolve(tree, rules=tuple(moved), test=np.array([*place, -1])[tree.test])


def _nodes_that_save_nothing(tree: Tree) -> np.ndarray:
    """Return int64[·]: inner nodes whose leaves together make no fewer training errors than they
    would as leaves, within SLACK.
    """
    as_leaf = tree.mass - tree.weights.max(axis=1)
    below = np.where(tree.is_leaf, as_leaf, 0.0)
    for node, above in zip(
        range(tree.n_nodes - 1, 0, -1), tree.parent[:0:-1].tolist(), strict=True
    ):
        below[above] += below[node]
    return np.flatnonzero(~tree.is_leaf & (below >= as_leaf - SLACK))
