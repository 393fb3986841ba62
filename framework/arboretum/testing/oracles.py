"""Naive oracles: tables counted row by row, scores and coverage in plain Python, and trees.

Nothing here shares code with the search loop: it is the slow truth that a component's author can
read.  Trees are built from nested choices, grown by a slow loop, and enumerated for brute force: a
*sketch* of a tree is ``None`` for a leaf, or ``(test, {outcome: sketch})`` with the global index of
a fixed test.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import cast

import attrs
import numpy as np

from arboretum.api import (
    Encoded,
    Node,
    Prices,
    Tables,
    Task,
    Tree,
)
from arboretum.engine.search.assemble import Grown, to_tree
from arboretum.engine.search.compiled_criterion import call_columns, kernel_of, numeric_fields
from arboretum.engine.search.statistics import Statistics
from arboretum.interfaces.coverage import Coverage
from arboretum.interfaces.criterion import Criterion
from arboretum.interfaces.impurity import Impurity
from arboretum.kernels import KernelNode, adds_by_class, mark_of
from arboretum.kernels.kernel_decorators import Kernel
from arboretum.testing.tables import outcomes, prices_of, toy_impurity

COVERED = 1e-12  # an f_i that misses 1 by no more counts as 1 (the contract of a coverage)


def is_kernel(criterion: Criterion) -> bool:
    """Whether ``score`` is a scalar kernel rather than a NumPy batch function."""
    return mark_of(criterion.score) == "criterion"


def kernel_node(
    criterion: Criterion, node: Node, impurity_of: Callable[[np.ndarray], np.ndarray] | None
) -> KernelNode:
    """The node as a scalar kernel sees it.   impurity_of : class weights → impurity, or None."""
    of: Kernel = (
        (lambda _: np.nan) if impurity_of is None else (lambda weights: float(impurity_of(weights)))
    )
    return KernelNode(
        mass=node.mass,
        total_mass=node.total_mass,
        impurity=node.impurity,
        depth=node.depth,
        coverage=node.coverage,
        params=numeric_fields(criterion),
        impurity_of=of,
    )


def scores(
    criterion: Criterion, tables: Tables, node: Node, kernel: Kernel | None = None
) -> np.ndarray:
    """float64[tests]: what the criterion answers; a kernel (its own, or the one given) is called
    test by test.
    """
    if kernel is None and not is_kernel(criterion):
        return criterion.score(tables, node)
    kernel = kernel or cast(Kernel, criterion.score)
    seen = kernel_node(criterion, node, tables.impurity_of)
    each = zip(tables.weights, tables.counts, tables.price, tables.extra, strict=True)
    return np.array([kernel(*table, seen) for table in each], dtype=np.float64)


def reference_of(kernel: Kernel) -> Kernel | None:
    """The slow twin: the function of the same name in the module ``reference`` beside the
    kernel's; None without one.
    """
    package = getattr(sys.modules.get(kernel.__module__), "__package__", "")
    if not package or not kernel.__module__.rpartition(".")[2].startswith("kernel"):
        return None
    try:
        room = importlib.import_module(f"{package}.reference")
    except ModuleNotFoundError:
        return None
    found: Kernel | None = getattr(room, kernel.__name__, None)
    return found


Rows = Sequence[int] | np.ndarray


def left_of(coverage: Sequence[Coverage], objects: Encoded, rows: Rows) -> dict[int, float]:
    """Object → Π (1 − f_i) over the coverages: how far it is from being covered, 0 where it is."""
    found = dict.fromkeys((int(i) for i in rows), 1.0)
    for part in coverage:
        values = part.covered(objects, np.array(list(found), np.int64))
        for i, value in zip(found, values.tolist(), strict=True):
            found[i] *= 0.0 if 1.0 - value <= COVERED else 1.0 - value
    return found


def coverage_of(coverage: Sequence[Coverage], objects: Encoded, rows: Rows) -> float:
    """``node.coverage``: the weighted mean of f_i, 0.0 without coverages."""
    if not coverage:
        return 0.0
    left = left_of(coverage, objects, rows)
    mass = sum(float(objects.weight[i]) for i in left)
    return sum(float(objects.weight[i]) * (1.0 - value) for i, value in left.items()) / mass


def gain_of(
    coverage: Sequence[Coverage],
    objects: Encoded,
    rows: Rows,
    outcome_of: Mapping[int, int],
    n_outcomes: int,
) -> list[float]:
    """Per outcome Σ w_i (f_i(outcome) − f_i(node)) / (1 − f_i(node)) over its objects, covered
    ones left out.

    rows : objects of the node.   outcome_of : object → its outcome, absent without one.
    """
    before, gains = left_of(coverage, objects, rows), []
    for o in range(n_outcomes):
        part = [int(i) for i in rows if outcome_of.get(int(i)) == o]
        after = left_of(coverage, objects, part) if part else {}
        gains.append(
            sum(
                float(objects.weight[i]) * (before[i] - after[i]) / before[i]
                for i in part
                if before[i] > 0.0
            )
        )
    return gains


def count_each(
    objects: Encoded, rows: np.ndarray, count_objects: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """What each object adds to a table: float64[len(rows), classes] (or moments) to its weights,
    int64[len(rows), classes] (or 1) to its counts: the rows it stands for, or 1 each where
    ``count_objects``.
    """
    w = objects.weight[rows]
    n = np.ones(len(rows), np.int64) if count_objects else objects.count[rows]
    if objects.is_regression:
        y = objects.y[rows]
        return np.stack([w, w * y, w * y * y], axis=1), n[:, None]
    own = objects.label[rows][:, None] == np.arange(objects.n_classes)
    return w[:, None] * own, n[:, None] * own


def contingency(
    objects: Encoded,
    rows: np.ndarray | None = None,
    *,
    criterion: Criterion | None = None,
    impurity: Impurity | None = None,
    prices: Prices | None = None,
    depth: int = 0,
    coverage: Sequence[Coverage] = (),
) -> tuple[Tables, Node]:
    """Count the tables of all tests at the node that holds ``rows`` (all objects unless given),
    test by test.

    criterion : its ``columns`` or ``column``, if it has one, fill ``extra``; ``counts_objects`` and
        ``needs_gain`` are heeded.  None: nobody scores.
    impurity : a component with ``value``, or None.   prices : None: 1 for every test.
    depth : of the node.   coverage : the run's.

    Tests that are constant on the node are left out, as they are in the search.
    """
    rows = np.arange(objects.n_objects) if rows is None else np.asarray(rows)
    prices = prices_of(objects) if prices is None else prices
    as_objects = bool(getattr(criterion, "counts_objects", False))
    node = node_of(
        objects, rows, impurity=impurity, depth=depth, coverage=coverage, count_objects=as_objects
    )
    n_outcomes = max(feature.arity for feature in objects.features)
    found = {test: outcomes(objects, test, rows) for test in range(objects.n_fixed)}
    groups = {test: [answer == k for k in range(n_outcomes)] for test, answer in found.items()}
    kept = [test for test, parts in groups.items() if sum(part.any() for part in parts) > 1]

    def sum_by_outcome(values: np.ndarray) -> np.ndarray:
        """[tests, outcomes, k]: sums of ``values``, [len(rows), k], over the rows of each
        outcome.
        """
        sums = [values[part].sum(axis=0) for test in kept for part in groups[test]]
        return np.array(sums, values.dtype).reshape(len(kept), n_outcomes, values.shape[1])

    gain = None
    if coverage and getattr(criterion, "needs_gain", False):
        outcome_of = [dict(zip(rows.tolist(), found[test], strict=True)) for test in kept]
        gain = np.array(
            [gain_of(coverage, objects, rows, each, n_outcomes) for each in outcome_of]
        ).reshape(-1, n_outcomes)
    own = sum_by_outcome(own_columns(criterion, node, objects, rows, impurity, coverage))
    weights, counts = map(sum_by_outcome, count_each(objects, rows, as_objects))
    return Tables(
        weights=weights,
        counts=counts,
        price=prices.tests[kept],
        extra=own,
        test=np.arange(len(kept)),
        impurity_of=None if impurity is None else impurity.value,
        impurity_scale=getattr(impurity, "scale", "mean"),
        gain=gain,
    ), node


def own_columns(
    criterion: Criterion | None,
    node: Node,
    objects: Encoded,
    rows: np.ndarray,
    impurity: Impurity | None,
    coverage: Sequence[Coverage] = (),
) -> np.ndarray:
    """float64[len(rows), k]: what a criterion's ``columns`` answers, or its ``column``, called
    object by object; k = 0 where it has neither.

    impurity : the run's, None without one.
    """
    if criterion is None:
        return np.zeros((len(rows), 0))
    if (column := getattr(criterion, "column", None)) and mark_of(column) == "column":
        seen = kernel_node(criterion, node, None if impurity is None else impurity.value)
        label = np.full(objects.n_objects, -1) if objects.label is None else objects.label
        values = [column(float(objects.weight[i]), int(label[i]), seen) for i in rows]
        found = np.array(values, float).reshape(len(rows), 1)
        by_class = adds_by_class(kernel_of(criterion, impurity, tuple(coverage)))
        return found * (label[rows][:, None] == np.arange(objects.n_classes)) if by_class else found
    if hasattr(criterion, "columns"):
        return np.asarray(call_columns(criterion, node, objects, rows), float)
    return np.zeros((len(rows), 0))


def node_of(
    objects: Encoded,
    rows: np.ndarray,
    *,
    impurity: Impurity | None = None,
    depth: int = 0,
    coverage: Sequence[Coverage] = (),
    count_objects: bool = False,
) -> Node:
    """The node that holds ``rows``.

    impurity : None: the node's is NaN.
    count_objects : its counts are of objects, not of the rows they stand for.
    """
    weights, counts = (each.sum(axis=0) for each in count_each(objects, rows, count_objects))
    mixed = np.nan if impurity is None else float(impurity.value(weights))
    return Node(
        weights,
        counts,
        mass=float(objects.weight[rows].sum()),
        total_mass=float(objects.weight.sum()),
        impurity=mixed,
        depth=depth,
        coverage=coverage_of(coverage, objects, rows),
        n_rows=int(objects.count[rows].sum()),
        n_objects=len(rows),
    )


Sketch = None | tuple[int, dict[int, "Sketch"]]


def branches(objects: Encoded, test: int, rows: np.ndarray) -> dict[int, np.ndarray]:
    """Outcome → the rows that have it; outcomes without rows are left out."""
    found = outcomes(objects, test, rows)
    return {int(k): rows[found == k] for k in np.unique(found) if k >= 0}


def all_sketches(objects: Encoded, rows: np.ndarray | None = None) -> Iterator[Sketch]:
    """Every tree that asks only tests which divide their node; there are very many: keep rows
    and tests few.
    """
    rows = np.arange(objects.n_objects) if rows is None else rows
    yield None
    for test in range(objects.n_fixed):
        parts = branches(objects, test, rows)
        if len(parts) > 1:
            options = [list(all_sketches(objects, part)) for part in parts.values()]
            for choice in np.ndindex(*map(len, options)):
                yield test, {k: options[i][choice[i]] for i, k in enumerate(parts)}


def best_tree(
    objects: Encoded, value: Callable[[Tree], float], prices: Prices | None = None
) -> tuple[float, Tree]:
    """The smallest value over all trees, and a tree that has it.

    prices : None: 1 for every test.
    """
    trees = (build_tree(objects, sketch, prices) for sketch in all_sketches(objects))
    return min(((float(value(tree)), tree) for tree in trees), key=lambda pair: pair[0])


def slow_greedy(objects: Encoded, *, rows: np.ndarray | None = None, max_depth: int = 6) -> Sketch:
    """Grow depth first by weighted impurity, counting every table anew.

    rows : objects of the node; None: all.
    """
    rows = np.arange(objects.n_objects) if rows is None else rows
    tables, node = contingency(objects, rows, impurity=toy_impurity(objects.task))
    if max_depth == 0 or tables.n_tests == 0 or node.impurity == 0:
        return None
    splitting = [t for t in range(objects.n_fixed) if len(branches(objects, t, rows)) > 1]
    test = splitting[int(np.argmin((tables.mass * tables.impurity(tables.weights)).sum(axis=1)))]
    parts = branches(objects, test, rows)
    return test, {
        k: slow_greedy(objects, rows=part, max_depth=max_depth - 1) for k, part in parts.items()
    }


def build_tree(objects: Encoded, sketch: Sketch, prices: Prices | None = None) -> Tree:
    """Turn a sketch into a tree with the weights of the training objects; raises ContractError if
    it is none.

    prices : None: 1 for every test.
    """
    prices = prices_of(objects) if prices is None else prices
    impurity = toy_impurity(objects.task)

    def grow_node(part: Sketch, rows: np.ndarray) -> Grown:
        """The node of these objects (int64), with all below it."""
        here = node_of(objects, rows, impurity=impurity)
        node = Grown(here.weights, here.count, mean_of(here.weights, objects.task), here.impurity)
        if part is not None:
            test, below = part
            parts = branches(objects, test, rows)
            node.rule, node.price = objects.rule(test), float(prices.tests[test])
            node.children = [
                grow_node(below[k], parts[k]) if k in parts else None
                for k in range(node.rule.arity)
            ]
        return node

    return plant_tree(grow_node(sketch, np.arange(objects.n_objects)), objects)


@lru_cache(maxsize=256)
def slow_tree(objects: Encoded, prices: Prices | None = None, max_depth: int = 6) -> Tree:
    """The tree that the slow loop grows."""
    return build_tree(objects, slow_greedy(objects, max_depth=max_depth), prices)


def mean_of(weights: np.ndarray, task: Task) -> float:
    """What a node with these moments predicts; NaN for classes."""
    return float(weights[1] / weights[0]) if task is Task.regression else float("nan")


def plant_tree(root: Grown, objects: Encoded) -> Tree:
    """The tree below a grown node whose moments are about 0."""
    return to_tree(root, objects, attrs.evolve(Statistics.of(objects), shift=0.0))
