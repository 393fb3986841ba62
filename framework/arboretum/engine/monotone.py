"""Predictions that do not fall (or do not rise) where a column rises: of numbers the mean, of two
classes the share of the second.

A test of such a column is refused where its branches are in the wrong order, or one would predict
beyond its node's bounds; below it, the mean of what its two branches predict bounds both.  So do
scikit-learn's ``monotonic_cst`` and the basic method of Auguste, Smirnov & Malory (2020), "A better
method to enforce monotonic constraints in regression and classification trees".  Below tests of
other columns what lies beyond its bounds becomes the bound.  Whatever is cut off, a node keeps its
bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, ConfigError, sure, unknown
from arboretum.interfaces.method import Parts, Problem
from arboretum.model.encoded import Encoded, Family, Feature
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.table import Table
from arboretum.model.tree import NO_CHILD, Tree

RISING, FALLING = 1, -1
WAY = "leave method.increasing and method.decreasing out"


@attrs.frozen(eq=False)
class Monotone:
    """The order that predictions keep.

    directions : position of a column in the raw table → RISING or FALLING.
    numbers : whether the target is one.
    """

    directions: Mapping[int, int]
    numbers: bool

    @staticmethod
    def of(
        problem: Problem, increasing: Sequence[str], decreasing: Sequence[str]
    ) -> Monotone | None:
        """Return the order that is asked for; None where none is.

        increasing, decreasing : names of columns.

        Raises ConfigError for a column that is not there, or in both, CapabilityError for parts
        that cannot keep the order, naming them.
        """
        if not increasing and not decreasing:
            return None
        columns = [column.name for column in problem.objects.table.columns]
        for field, names in (("increasing", increasing), ("decreasing", decreasing)):
            for name in names:
                if name not in columns:
                    raise ConfigError(f"method.{field}: {unknown('column', name, columns)}")
        if both := set(increasing) & set(decreasing):
            raise ConfigError(
                f"column {min(both)!r} is in method.increasing and in method.decreasing; leave it "
                "out of one"
            )
        _refuse_parts(problem)
        directions = dict.fromkeys(increasing, RISING) | dict.fromkeys(decreasing, FALLING)
        for name in directions:
            _refuse_categories(problem.objects, name)
        if problem.objects.n_classes == 1:  # there is nothing to order
            return None
        return Monotone(
            {columns.index(name): way for name, way in directions.items()},
            problem.objects.is_regression,
        )

    def predicted(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…]: what nodes predict, numbers about the centre of their moments; NaN
        where nothing weighs.

        weights : float64[…, classes], or moments.
        """
        mass = weights[..., 0] if self.numbers else weights.sum(axis=-1)
        found: np.ndarray = np.divide(
            weights[..., 1], mass, out=np.full(mass.shape, np.nan), where=mass > 0
        )
        return found

    def allows(
        self, weights: np.ndarray, position: np.ndarray, bounds: tuple[float, float]
    ) -> np.ndarray:
        """Return bool[tests]: which tests keep the order.

        weights : float64[tests, outcomes, classes], or moments.
        position : int64[tests], of the column that each reads.
        bounds : least and most that the node may predict.
        """
        kept, (low, high) = np.ones(len(position), np.bool_), bounds
        for column, way in self.directions.items():
            mine = np.flatnonzero(position == column)
            values = self.predicted(weights[mine])
            beyond = ((values < low) | (values > high)).any(axis=1)
            kept[mine] = ~(beyond | ((values[:, 1] - values[:, 0]) * way < 0))
        return kept

    def bounds_below(
        self, weights: Sequence[np.ndarray | None], position: int, bounds: tuple[float, float]
    ) -> list[tuple[float, float]]:
        """Return (least, most) that each branch of a chosen test may predict.

        weights : of the branches, None without one.
        position, bounds : as of :meth:`allows`, of the test and its node.
        """
        way, (low, high) = self.directions.get(position, 0), bounds
        if not way or any(one is None for one in weights):
            return [bounds] * len(weights)
        middle = float(self.predicted(np.array(weights)).mean())
        middle = min(max(middle, low), high)
        found = [(low, middle), (middle, high)]
        return found if way == RISING else found[::-1]


def asked_of(parts: Parts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the columns in which a run's method is asked to rise, and to fall."""
    method: Any = parts.method
    return tuple(getattr(method, "increasing", ())), tuple(getattr(method, "decreasing", ()))


def _refuse_parts(problem: Problem) -> None:
    """Raise CapabilityError for parts that choose or predict otherwise than by tables."""
    objects, parts = problem.objects, problem.parts
    if objects.is_classification and objects.n_classes > 2:
        raise CapabilityError(
            "monotone growth orders numbers, or the share of the second of two classes, but there "
            f"are {objects.n_classes}; make two with dataset.positive=CLASS"
        )
    if parts.predicate:
        raise CapabilityError(
            f"predicate {parts.predicate[0].name} makes tests of its own at each node, and "
            f"monotone growth orders thresholds; leave it out, or {WAY}"
        )
    if parts.missing is not None and parts.fractional_rows:
        raise CapabilityError(
            f"missing {parts.missing.name} moves rows in a way of its own, and monotone growth "
            f"counts them in a branch; choose missing=better_side, or {WAY}"
        )
    impurity = parts.impurity
    if impurity is not None and (hasattr(impurity, "leaf_value") or hasattr(impurity, "of_values")):
        raise CapabilityError(
            f"impurity {impurity.name} predicts from the values of a leaf, and monotone "
            f"growth orders means; choose impurity=variance, or {WAY}"
        )
    if any(hasattr(parts.objective, way) for way in ("weigh", "moments")):
        raise CapabilityError(
            f"objective {sure(parts.objective).name} says what leaves predict, and monotone "
            f"growth does, too; leave it out, or {WAY}"
        )
    if problem.store is not None:
        raise CapabilityError(
            f"monotone growth looks at each node's tests with its bounds; use rows=memory, or {WAY}"
        )


def _refuse_categories(objects: Encoded, name: str) -> None:
    """Raise CapabilityError for a column that tests do not ask by thresholds."""
    for feature in objects.all_features:
        if (
            feature.column == name
            and isinstance(feature, Feature)
            and feature.family is not Family.thresholds
        ):
            raise CapabilityError(
                f"predictions can be monotone in numbers, but {name!r} is asked by its "
                "categories; choose encoder=midpoints or bins"
            )


def held(values: np.ndarray, tree: Tree, parts: Parts, table: Table) -> np.ndarray:
    """Return float64[n_nodes]: the means, or shares, of a tree's nodes, each held to the bounds
    that tests of ordered columns above it set; for verification.

    values : float64[n_nodes], before.   table : as of :func:`find_fault`.
    """
    directions = _directions_of(parts)
    if not directions:
        return values
    low, high = np.full(tree.n_nodes, -np.inf), np.full(tree.n_nodes, np.inf)
    for node in tree.inner.tolist():
        children = [child for child in tree.children(node).tolist() if child != NO_CHILD]
        low[children], high[children] = low[node], high[node]
        (name, *more) = tree.rule(node).columns
        if more or name not in directions or len(children) != 2:
            continue
        pair = _from_low_to_high(tree, node, table)[:: directions[name]]
        middle = np.clip(values[pair].mean(), low[node], high[node])
        high[pair[:1]], low[pair[1:]] = middle, middle
    return np.asarray(np.clip(values, low, high))


def _directions_of(parts: Parts) -> dict[str, int]:
    """Return column → RISING or FALLING, as a run's method is asked."""
    increasing, decreasing = asked_of(parts)
    return dict.fromkeys(increasing, RISING) | dict.fromkeys(decreasing, FALLING)


def find_fault(tree: Tree, parts: Parts, table: Table) -> str:
    """Return where a tree breaks the order that its run asks for, as a sentence; "" where nowhere.

    Below a test of such a column nothing may predict more (or less) than anything on its other
    side: enough for two rows that differ in that column alone, wherever they come to rest.
    table : whose values of the column say which outcome is the lower one.
    """
    directions = _directions_of(parts)
    if not directions:
        return ""
    said = [tree.value] if tree.is_regression else [tree.label, tree.distribution()[:, -1]]
    for node in tree.inner.tolist():
        rule = tree.rule(node)
        name = next((name for name in rule.columns if name in directions), None)
        if name is None:
            continue
        sides = [
            slice(node, node + 1) if child == NO_CHILD else slice(child, tree.subtree_end[child])
            for child in _from_low_to_high(tree, node, table)
        ]
        if len(sides) != 2 or len(rule.columns) != 1:
            return f"node {node} asks {rule.describe()!r}, which does not divide {name!r} in two"
        low, high = sides if directions[name] == RISING else sides[::-1]
        for values in said:
            if values[low].max() > values[high].min():
                return (
                    f"node {node} asks {rule.describe()!r}, and predictions below do not keep the "
                    f"order asked for in {name!r}"
                )
    return ""


def _from_low_to_high(tree: Tree, node: int, table: Table) -> list[int]:
    """Return the children of a node that asks one column, those of low values first; none where
    its outcomes are not in the order of the values.
    """
    rule = tree.rule(node)
    values = table.column(rule.columns[0]).values
    rows = np.argsort(values, kind="stable")
    outcome = rule.outcomes(table, rows)
    met = list(dict.fromkeys(outcome[outcome != NO_OUTCOME].tolist()))
    change = np.count_nonzero(np.diff(outcome[outcome != NO_OUTCOME]))
    if rule.arity != 2 or change > 1:
        return []
    order = met if len(met) == 2 else [0, 1]
    return [int(tree.children(node)[k]) for k in order]


def check_pruned(tree: Tree, parts: Parts, table: Table) -> None:
    """Raise CapabilityError, naming the pruner, for a tree that pruning took out of order."""
    if parts.pruner is None:
        return
    fault = find_fault(tree, parts, table)
    if np.isnan(tree.value).any() and len(tree.classes) != 1:
        fault = fault or "what they are held to is lost"
    if fault:
        raise CapabilityError(
            f"pruner {parts.pruner.name} moved rows to other branches, so that predictions are not "
            f"monotone any more ({fault}); choose pruner=cost_complexity, or {WAY}"
        )
