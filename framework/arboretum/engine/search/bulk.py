"""Many greedy trees over one set of coded objects: judges prepared once, one compiled call per set
of objects.

For studies of thousands of small tables: a table costs some microseconds of Python and then what
its trees cost inside the kernel.  The trees are those of :func:`arboretum.engine.search.grow.grow`;
:func:`check` replays every object through them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from attrs.converters import optional
from numpy.typing import ArrayLike

from arboretum.engine.search.assemble import Grown, Subtree, to_tree
from arboretum.engine.search.coded import FAMILY
from arboretum.engine.search.compiled_criterion import (
    TIE_TOLERANCE,
    CompiledCriterion,
    component_name,
)
from arboretum.engine.search.plan import combine_leaf_rules
from arboretum.engine.search.statistics import NO_ROWS, Statistics
from arboretum.engine.search.subtree import NO_NUMBERS, Tests, make_subtree_rules, with_values
from arboretum.errors import CapabilityError, ContractError, VerificationError
from arboretum.interfaces.criterion import Criterion
from arboretum.interfaces.impurity import Impurity
from arboretum.interfaces.method import Parts
from arboretum.interfaces.stopping import Stopping
from arboretum.kernels import forest as kernels
from arboretum.kernels.coded import NO_CODES, NO_RUNS, Features
from arboretum.kernels.forest import SOUND, Trees, check_forest, grow_forest
from arboretum.kernels.plain import compiled
from arboretum.kernels.subtree import Above, Members, SubtreeScorer, scratch_for
from arboretum.model.encoded import Encoded, Family, Prices
from arboretum.model.table import Task
from arboretum.model.tree import Tree

MEASURES = tuple(kernels.MEASURES.names or ())
"""Columns of :attr:`Forest.measures`; the names of the complexities."""


@attrs.frozen(eq=False)
class Judges:
    """Criteria with their impurities, compiled.

    batch, impurity_at : int64[n], addresses.
    params : float64[n, most], numeric fields, filled up with 0.
    floor : float64[n], see ``CompiledCriterion.floor``.
    """

    names: tuple[str, ...]
    batch: np.ndarray
    impurity_at: np.ndarray
    params: np.ndarray
    floor: np.ndarray

    @staticmethod
    @compiled()  # an array of addresses has no room for what stands in their place
    def of(pairs: Sequence[tuple[Criterion, Impurity | None]], n_classes: int) -> Judges:
        """Prepare (criterion, impurity) pairs for tables with that many classes.

        Raises CapabilityError for a criterion or impurity without kernel form, and for a criterion
        that adds up columns of its own or counts objects; ContractError when one does not compile.
        """
        none = np.zeros(0)
        classes = Statistics(
            task=Task.classification,
            label=none,
            y=none,
            weight=none,
            count=none,
            n_classes=n_classes,
            shift=0.0,
            unit=True,
            short_label=none,
        )
        judges = [
            CompiledCriterion.of(criterion, impurity, classes, 0, ())
            for criterion, impurity in pairs
        ]
        for scorer in judges:
            name = component_name(scorer.criterion)
            if not scorer.in_kernel_form:
                raise CapabilityError(
                    f"bulk growth needs kernels: criterion {name!r} or its impurity has none "
                    "here; use method=greedy"
                )
            if scorer.column_at or getattr(scorer.criterion, "counts_objects", False):
                raise CapabilityError(
                    f"bulk growth adds up weights and rows alone: criterion {name!r} wants "
                    "more; use method=greedy"
                )
        params = np.zeros((len(judges), max((len(j.params) for j in judges), default=0)))
        for k, scorer in enumerate(judges):
            params[k, : len(scorer.params)] = scorer.params
        return Judges(
            tuple(f"{component_name(j.criterion)}/{component_name(j.impurity)}" for j in judges),
            np.array([j.batch for j in judges], np.int64),
            np.array([j.impurity_at for j in judges], np.int64),
            params,
            np.array([j.floor for j in judges]),
        )


def _as_codes(given: ArrayLike) -> np.ndarray:
    return np.array(given, np.uint16, order="C")


def _as_labels(given: ArrayLike) -> np.ndarray:
    return np.array(given, np.int32)


def _as_weights(given: ArrayLike) -> np.ndarray:
    return np.array(given, np.float64)


def _as_counts(given: ArrayLike) -> np.ndarray:
    return np.array(given, np.int64)


@attrs.frozen(eq=False)
class Objects:
    """Coded objects with classes.

    codes : whole numbers[n, F], kept as uint16.
    label : whole numbers[n] < n_classes, kept as int32.
    weight : float64[n] and count : int64[n], or None: units.
    once : asked columns are free further down.
    """

    layout: Features
    codes: np.ndarray = attrs.field(converter=_as_codes)
    label: np.ndarray = attrs.field(converter=_as_labels)
    n_classes: int
    weight: np.ndarray | None = attrs.field(default=None, converter=optional(_as_weights))
    count: np.ndarray | None = attrs.field(default=None, converter=optional(_as_counts))
    once: bool = False

    @property
    def kernel_features(self) -> Features:
        """The layout together with the codes, as kernels read them."""
        return with_values(self.layout, self.codes)

    @staticmethod
    def of(objects: Encoded, prices: Prices) -> Objects:
        """Read codes, classes and weights off encoded objects.

        Raises CapabilityError when there is more than coded features and classes.
        """
        if objects.raw_features or objects.is_regression:
            raise CapabilityError(
                "bulk growth is for coded features and classes; choose encoder=multiway (or "
                "another one that codes)"
            )
        if not prices.fixed:
            raise CapabilityError(
                "bulk growth knows one price per test, not one by path or outcome; choose "
                "cost=table"
            )
        layout, once = Tests.of(objects, prices).coded, prices.once_per_column
        stats = Statistics.of(objects)
        weight, count = (None, None) if stats.unit else (stats.weight, stats.count)
        return Objects(
            layout=layout,
            codes=objects.codes,
            label=stats.label,
            n_classes=stats.n_classes,
            weight=weight,
            count=count,
            once=once,
        )


def multiway_layout(n_values: Sequence[int]) -> Features:
    """Describe columns with one multiway test each, of price 1, and without missing values.

    n_values : of each column.
    """
    n = len(n_values)
    family = np.full(n, FAMILY[Family.multiway], np.int64)
    offset = np.cumsum([0, *n_values], dtype=np.int64)
    own = np.arange(n), family, offset, np.zeros(n, np.bool_), np.arange(n), np.ones(n)
    return Features(*NO_CODES, *own, np.arange(n), *NO_RUNS)


@attrs.frozen(eq=False)
class Forest:
    """Trees one after the other; tree k has the nodes ``start[k] … start[k + 1] − 1``, the root
    first.

    integers : int32[5, nodes]: feature (position in the layout, −1: leaf), index (of the test
        within the feature), side (outcome of missing values, −1: the node had none), parent (within
        the tree, −1: root), branch (outcome of the parent's test).
    floats : float64[3, nodes]: price, score, impurity.
    weights : float64[nodes, classes].
    counts : int64[nodes, classes], rows.
    measures : float64[trees, 8], columns :data:`MEASURES`.
    """

    start: np.ndarray
    integers: np.ndarray
    floats: np.ndarray
    weights: np.ndarray
    counts: np.ndarray
    measures: np.ndarray

    def __len__(self) -> int:
        return len(self.start) - 1

    def tree(self, k: int, objects: Encoded, layout: Features) -> Tree:
        """Return tree k in full, as a run would return it.

        objects, layout : those that the forest was grown over.
        """
        some = slice(self.start[k], self.start[k + 1])
        feature, index, side, parent, branch = self.integers[:, some]
        weights = self.weights[some]
        count = self.counts[some].sum(axis=1)
        here = np.where(feature >= 0, layout.column[feature], -1)
        rule_of = lambda f, number: objects.features[f].rule(int(number))
        price, score, impurity = self.floats[:, some]
        below = Subtree(
            feature=here,
            number=index,
            side=side,
            parent=parent,
            branch=branch,
            price=price,
            score=score,
            impurity=impurity,
            weights=weights,
            count=count,
            shift=math.nan,
            rule_of=rule_of,
        )
        root = Grown(weights[0], int(count[0]), math.nan, float(below.impurity[0]), below=below)
        return to_tree(root, objects)


@compiled()
def grow_many(objects: Objects, judges: Judges, stopping: Sequence[Stopping] = ()) -> Forest:
    """Grow one tree per scorer over the same objects.

    stopping : leaf rules that look at objects alone, with their limits.
    Raises CapabilityError for another leaf rule or a leaf budget, ContractError when a criterion
    returns NaN or +inf.
    """
    parts = Parts(None, stopping=tuple(stopping))
    limits = parts.limits()
    if combine_leaf_rules(parts) is None:
        raise CapabilityError(
            "bulk growth needs leaf rules that look at a node's objects alone; use method=greedy"
        )
    for name in ("max_leaves", "max_cost"):
        if getattr(limits, name) is not None:
            raise CapabilityError(f"bulk growth knows no limit {name}; use method=greedy")
    n, n_trees, width = len(objects.label), len(judges.batch), objects.n_classes
    weight, count = _UNITS if objects.weight is None else (objects.weight, objects.count)
    total = float(n) if objects.weight is None else float(weight.sum())
    # a node is divided where there is room for all outcomes
    room = 2 * n * n_trees + int(np.diff(objects.layout.offset).max(initial=2))
    start, measures = np.zeros(n_trees + 1, np.int64), np.zeros(n_trees, kernels.MEASURES)
    trees = Trees(
        np.empty((6, room), np.int32),
        np.empty((3, room)),
        np.empty((room, width)),
        np.empty((room, width), np.int64),
        NO_ROWS,
    )
    done = grow_forest(
        objects.kernel_features,
        Above(0, _NONE, np.zeros(len(objects.layout.column), np.bool_), 0.0, np.zeros(0)),
        Members(objects.label, NO_NUMBERS, weight, count, objects.weight is None, NO_ROWS),
        make_subtree_rules(parts, limits.min_mass * total, total, objects.once),
        SubtreeScorer(
            judges.batch,
            judges.params,
            judges.impurity_at,
            np.zeros(n_trees, np.int64),
            TIE_TOLERANCE,
            judges.floor,
        ),
        scratch_for(objects.kernel_features, n, width, width, objects.weight is None, 0),
        start,
        trees,
        measures,
    )
    if done < n_trees:
        raise ContractError(
            f"criterion {judges.names[done]} returned NaN or +inf; method=greedy names the test"
        )
    used = int(start[-1])
    return Forest(
        start,
        trees.integers[:5, :used],
        trees.floats[:, :used],
        trees.weights[:used],
        trees.counts[:used],
        columns_of(measures),
    )


def columns_of(measures: np.ndarray) -> np.ndarray:
    """View measures as float64[trees, 8], columns :data:`MEASURES`: the same memory."""
    return measures.view(np.float64).reshape(len(measures), -1)


_NONE = np.zeros(0, np.bool_)
_UNITS = np.ones(0), np.ones(0, np.int64)


def check(forest: Forest, objects: Objects) -> np.ndarray:
    """Walk every object through every tree, and recompute all measures; return float64[trees], each
    tree's share of weight outside the majority class of its leaf.

    Raises VerificationError, naming tree and measure, when what was reported is not what was found.
    Sums of n weights may differ by 4 n ε of the value (ε = 2⁻⁵²), which is less than any difference
    of whole numbers.
    """
    n_trees, n = len(forest), len(objects.label)
    weight = np.ones(n) if objects.weight is None else objects.weight
    measures = np.zeros(n_trees, kernels.MEASURES)
    wrong = np.empty(n_trees)
    verdict = np.empty(n_trees, np.int64)
    check_forest(
        objects.kernel_features,
        objects.label,
        weight,
        objects.once,
        forest.start,
        forest.integers,
        objects.n_classes,
        measures,
        wrong,
        verdict,
    )
    found = columns_of(measures)
    slack = 4 * n * 2.0**-52
    good = np.abs(found - forest.measures) <= slack * np.maximum(1.0, np.abs(found))
    if not good.all() or (verdict != SOUND).any():
        k = int(np.flatnonzero(~good.all(axis=1) | (verdict != SOUND))[0])
        if verdict[k] != SOUND:
            raise VerificationError(
                f"verification failed: tree {k}: its rows do not walk through all of it "
                f"(verdict {verdict[k]})"
            )
        m = int(np.flatnonzero(~good[k])[0])
        raise VerificationError(
            f"verification failed: tree {k}: reported {MEASURES[m]} {forest.measures[k, m]:g}, "
            f"recomputed {found[k, m]:g}; please report this table"
        )
    return wrong / (float(n) if objects.weight is None else math.fsum(weight))
