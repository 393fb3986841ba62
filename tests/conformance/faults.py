"""Components that break a promise, each in one way; ``test_faults.py`` says who finds them.

Criteria that do are in ``faulty_criteria.py``.
"""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    CodedTests,
    Family,
    Form,
    LeafRule,
    Limits,
    Prices,
    Solution,
    Status,
    param,
)
from arboretum.kernels import complexity_kernel, criterion_kernel, prefix_kernel
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.solving import tiny_table
from arboretum.testing.tables import ToyFeature, ToyGini, toy_objects

CLASSES = ("classification", "multiclass", "weights")

# -- impurities and coverages ----------------------------------------------------------------------


def pairs(weights):
    total = weights.sum(axis=-1)
    return (total * total - (weights * weights).sum(axis=-1)) / 2


@attrs.frozen
class PairsButOfThree:
    """Pairs on two classes, a thousand wherever three are there."""

    kind, name, paper, scale = "impurity", "pairs_but_of_three", "", "total"
    capabilities = (*CLASSES, "admissible")

    def value(self, weights):
        return np.where((weights > 0).sum(axis=-1) > 2, 1000.0, pairs(weights))


@attrs.frozen
class ConcaveButOfThree(ToyGini):
    """Gini's index, and less of it where three classes meet."""

    capabilities = (*CLASSES, "concave")
    kernel = None

    def value(self, weights):
        return super().value(weights) * np.where((weights > 0).sum(axis=-1) > 2, 0.3, 1.0)


@attrs.frozen
class GrowingMean(PairsButOfThree):
    """Pairs, said to be a mean."""

    capabilities, scale = CLASSES, "mean"

    def value(self, weights):
        return pairs(weights)


@attrs.frozen
class WholeHalves(GrowingMean):
    """Half of the pairs, said to be whole."""

    scale, whole = "total", True

    def value(self, weights):
        return pairs(weights) / 2


@attrs.frozen
class RoundedGini(ToyGini):
    """Gini's index of weights without what lies behind the point."""

    capabilities, kernel = CLASSES, None

    def value(self, weights):
        return super().value(np.rint(weights))


@prefix_kernel
def sums_instead(y, weight, out):
    total = 0.0
    for i in range(len(y)):
        total += weight[i] * abs(y[i])
        out[i] = total


@attrs.frozen
class PrefixOfAnother:
    """Mean distance from the mean, but from 0 along sorted columns."""

    kind, name, paper, scale, capabilities = (
        "impurity",
        "prefix_of_another",
        "",
        "mean",
        ("regression", "weights"),
    )
    prefix = staticmethod(sums_instead)

    def of_values(self, y, weight):
        return float(np.average(np.abs(y - np.average(y, weights=weight)), weights=weight))

    def leaf_value(self, y, weight):
        return float(np.average(y, weights=weight))


@attrs.frozen
class ManyForgetWeights:
    """Share of the weight of other classes that is gone; of many sets at once, of the objects."""

    kind, name, paper, capabilities = "coverage", "many_forget_weights", "", CLASSES

    def covered(self, objects, rows, weight=None):
        weight = objects.weight if weight is None else weight
        total = np.bincount(objects.label, weight, objects.n_classes)
        here = np.bincount(objects.label[rows], weight[rows], objects.n_classes)
        others, still = total.sum() - total, here.sum() - here
        return (1 - still / others)[objects.label[rows]]

    def covered_many(self, objects, rows, start):
        sets = [rows[a:b] for a, b in itertools.pairwise(start)]
        return np.concatenate(
            [self.covered(objects, one, np.ones(objects.n_objects)) for one in sets]
        )


# -- stopping rules and missing values -------------------------------------------------------------


@attrs.frozen
class Never:
    """Never a leaf."""

    kind, name, paper, capabilities = "stopping", "never", "", CLASSES

    def limits(self):
        return Limits()

    def is_leaf(self, node):
        return False


@attrs.frozen
class DepthTwo(Never):
    """A leaf from depth two on, and promises none."""

    name = "depth_two"

    def is_leaf(self, node):
        return bool(node.depth >= 2)

    def leaf_rule(self):
        return LeafRule()


@attrs.frozen
class OneRowLess(DepthTwo):
    """At most so many rows, promised as fewer than so many."""

    def is_leaf(self, node):
        return bool(node.count <= 10)

    def leaf_rule(self):
        return LeafRule(min_split=10)


@attrs.frozen
class NearlyPure(DepthTwo):
    """A leaf where a class has nine tenths."""

    def is_leaf(self, node):
        return bool(node.weights.max() >= 0.9 * node.mass)


@attrs.frozen
class ShareOfAll(DepthTwo):
    """A share, promised at a tenth and taken at an eighth."""

    def is_leaf(self, node):
        return bool(node.mass <= 0.125 * node.total_mass)

    def leaf_rule(self):
        return LeafRule(theta=0.1)


@attrs.frozen
class ThirdLevel(DepthTwo):
    """A leaf at depth three alone."""

    def is_leaf(self, node):
        return bool(node.depth == 3)


@attrs.frozen
class NoFirstClass(DepthTwo):
    """A leaf where the first of several classes has no row."""

    def is_leaf(self, node):
        return bool(node.weights[0] == 0 and np.count_nonzero(node.weights) > 1)


@attrs.frozen
class HundredsOfRows(DepthTwo):
    """A leaf of some hundreds of rows."""

    def is_leaf(self, node):
        return bool(100 <= node.count < 1000)


@attrs.frozen
class ReadsCoverage(DepthTwo):
    """Looks at coverage, and does not say so."""

    def is_leaf(self, node):
        return bool(node.coverage >= 0.5)

    def leaf_rule(self):
        return LeafRule(min_split=2)


@criterion_kernel
def large_enough(weights, counts, price, extra, node):
    rows = 0
    for k in range(counts.shape[1]):
        rows += counts[0, k]
    return rows / 3.0


@attrs.frozen
class WorthOfTheOther(Never):
    """Whether some test leaves three rows on the first side, by its kernel; by its method on
    either.
    """

    def is_leaf_among(self, tables, node):
        return all((block.counts.sum(axis=2) < 3).any(axis=1).all() for block in tables)

    def significance(self):
        return large_enough, False


@attrs.frozen
class LastBranch:
    """Rows without a value take the last branch, said to be the heaviest."""

    kind, name, paper, capabilities = "missing", "last_branch", "", ()
    counted, discounted, kernel = True, False, "heaviest"

    def placements(self, known):
        return (len(known) - 1,)


@attrs.frozen
class SplitsAndCounts(LastBranch):
    """In shares, and in the tables besides."""

    kernel = "splits"

    def placements(self, known):
        return (MISSING_SPLITS,)


# -- costs of trees, and what is minimised ---------------------------------------------------------


@attrs.frozen
class NoForm:
    """The costliest path."""

    kind, name, paper, capabilities, per_object = "complexity", "no_form", "", (), False

    def leaf(self):
        return 0.0

    def node(self, mass, price, children):
        return price + float(np.max(children))


@attrs.frozen
class ForgetsPrices(NoForm):
    """The costliest path, and in closed form the longest."""

    name = "forgets_prices"

    def node(self, mass, price, children):
        return price + float(np.max(children))

    def form(self):
        return Form("max", per_node=1.0)


@attrs.frozen
class SumOfTwo(ForgetsPrices):
    """What the two costliest branches cost, and in closed form what all cost."""

    name = "sum_of_two"

    def node(self, mass, price, children):
        return 1.0 + float(np.sort(children)[-2:].sum())

    def form(self):
        return Form(per_node=1.0)


@complexity_kernel
def overflowing(mass, price, children):
    total = 1
    for child in children:
        total += int(child) * 4_000_000_000_000
    return total / 4e12


@attrs.frozen
class Overflows(NoForm):
    """Whole numbers that compiled code has no room for."""

    node = staticmethod(overflowing)


@attrs.frozen
class LeafErrors:
    """Weight of the errors, and λ per leaf."""

    kind, name, paper, shape, capabilities = "objective", "leaf_errors", "", "additive", CLASSES
    lam: float = param(0.3, "cost of a leaf", ge=0)

    def label_costs(self, weights, problem):
        return weights.sum(axis=1, keepdims=True) - weights

    def value(self, tree, problem):
        costs = self.label_costs(tree.weights, problem)[np.arange(tree.n_nodes), tree.label]
        return float(costs[tree.is_leaf].sum() + self.lam * tree.n_leaves)


@attrs.frozen
class RootOfErrors(LeafErrors):
    """No sum over leaves."""

    def value(self, tree, problem):
        return math.sqrt(super().value(tree, problem))


@attrs.frozen
class OtherLabelCosts(LeafErrors):
    """An error of the first class costs twice, and counts once."""

    def value(self, tree, problem):
        wrong = (tree.weights.sum(axis=1) - tree.weights[np.arange(tree.n_nodes), tree.label])[
            tree.is_leaf
        ].sum()
        return float(wrong + self.lam * tree.n_leaves)

    def label_costs(self, weights, problem):
        return super().label_costs(weights, problem) + weights[:, :1] * (
            np.arange(weights.shape[1]) > 0
        )


@attrs.frozen
class WeighsNothing(LeafErrors):
    """Objects of the first class weigh nothing."""

    def weigh(self, objects):
        return objects.weight * (objects.label > 0)


@attrs.frozen
class CountsLeafRows(LeafErrors):
    """Rows of leaves in the place of their weights."""

    shape = "confusion"

    def value(self, tree, problem):
        return float((np.sqrt(tree.counts) * (tree.weights > 0).sum(axis=1))[tree.is_leaf].sum())


# -- solvers and methods ---------------------------------------------------------------------------


def listed(problem, objects=None, limited=True):
    """The best of all trees, on these objects, with the weights that the run's objects have."""
    from arboretum.engine.certificate import beyond
    from arboretum.testing.oracles import all_sketches

    objective, limits = problem.parts.objective, problem.parts.limits()
    best = (math.inf, None)
    for sketch in all_sketches(problem.objects):
        tree = build_tree(objects or problem.objects, sketch, problem.prices)
        value = objective.value(tree, problem)
        if value < best[0] and not (limited and beyond(tree, limits)):
            best = value, sketch
    tree = build_tree(problem.objects, best[1], problem.prices)
    value = objective.value(tree, problem)
    return Solution(tree, value, value, Status.optimal)


@attrs.frozen
class Lists:
    """Lists every tree."""

    kind, name, paper, capabilities, limits = (
        "solver",
        "lists",
        "",
        (*CLASSES, "exact"),
        ("max_depth", "max_leaves", "min_leaf"),
    )

    def solve(self, problem, context):
        return listed(problem)


@attrs.frozen
class ListsByRows(Lists):
    """Every object weighs 1 to it."""

    def solve(self, problem, context):
        return listed(
            problem, attrs.evolve(problem.objects, weight=np.ones(problem.objects.n_objects))
        )


@attrs.frozen
class ListsByWholeWeights(Lists):
    """A weight is rounded up."""

    def solve(self, problem, context):
        return listed(
            problem, attrs.evolve(problem.objects, weight=np.ceil(problem.objects.weight))
        )


@attrs.frozen
class HeedsNoLimit(Lists):
    """States limits, and holds none."""

    def solve(self, problem, context):
        return listed(problem, limited=False)


@attrs.frozen
class MinimaOfNothing(Lists):
    """Proves that nothing costs anything."""

    def minima(self, problem, complexities, context):
        return [Solution(None, 0.0, 0.0, Status.optimal) for _ in complexities]


@attrs.frozen
class AsksNoRule:
    """Says that it asks the rule for rows without a value, and sends them to the first branch."""

    kind, name, paper, needs, asks_missing, capabilities = (
        "method",
        "asks_no_rule",
        "",
        ("criterion",),
        True,
        CLASSES,
    )

    def fit(self, problem, context):
        table = problem.objects.table
        known = np.flatnonzero(~problem.objects.lacking)
        tree = build_tree(
            problem.objects.take(known), slow_greedy(problem.objects.take(known), max_depth=2)
        )
        return Solution(
            attrs.evolve(tree, missing_child=np.where(tree.is_leaf, -1, 0))
            if len(known) == table.n_rows
            else tree,
            0.0,
            0.0,
            Status.feasible,
        )


# -- what comes before and after -------------------------------------------------------------------


@attrs.frozen
class Relabels:
    """Leaves say the last class."""

    kind, name, paper, needs_validation, capabilities = "pruner", "relabels", "", False, CLASSES

    def prune(self, tree, train, valid):
        return attrs.evolve(tree, label=np.where(tree.is_leaf, len(tree.classes) - 1, tree.label))


@attrs.frozen
class GivesAway(Relabels):
    """Tests become free."""

    def prune(self, tree, train, valid):
        return attrs.evolve(tree, price=np.zeros(tree.n_nodes))


@attrs.frozen
class HalfTheWeight(Relabels):
    """Nodes weigh half of what their rows weigh, below the root."""

    def prune(self, tree, train, valid):
        return attrs.evolve(
            tree,
            weights=np.where(np.arange(tree.n_nodes)[:, None] > 0, tree.weights / 2, tree.weights),
        )


@attrs.frozen
class PrunesByRows(Relabels):
    """Cuts nodes of fewer rows than eight, whatever they weigh."""

    def prune(self, tree, train, valid):
        return tree.cut(np.flatnonzero(tree.counts < 8))


@attrs.frozen
class ForgetsTheWeights:
    """Thresholds at all midpoints of numbers, for objects that weigh 1."""

    kind, name, paper, capabilities = "encoder", "forgets_the_weights", "", ()

    def encode(self, table, whole, *, raw_thresholds, seed):
        found = toy_objects(table, multiway=False)
        return attrs.evolve(found, weight=np.ones(found.n_objects))


@attrs.frozen
class CodesTheOtherWay:
    """Thresholds on a number, whose codes are turned round."""

    kind, name, paper, capabilities = "predicate", "codes_the_other_way", "", CLASSES

    def candidates(self, objects, rows, seed):
        values = objects.table.columns[0].values[objects.row_of_object[rows]]
        edges = np.unique(values)
        middle = (edges[:-1] + edges[1:]) / 2
        feature = ToyFeature(
            objects.table.columns[0].name,
            0,
            Family.thresholds,
            len(edges),
            edges=tuple(middle.tolist()),
        )
        codes = len(edges) - 1 - np.searchsorted(middle, values)
        return [
            CodedTests(
                (feature.column,),
                Family.thresholds,
                [len(edges)],
                lambda first, stop: codes[None][first:stop],
                lambda code, index: feature.rule(index),
            )
        ]


@attrs.frozen
class DearerBelow:
    """Whatever is asked makes the rest dearer."""

    kind, name, paper, capabilities = "cost", "dearer_below", "", ()

    def price_list(self, objects, seed):
        n = int(objects.test_offset[-1])
        first = Prices(np.ones(n), np.ones(len(objects.raw_features)))
        return attrs.evolve(
            first,
            after=lambda asked, paid: Prices(
                np.full(n, 2.0), np.full(len(objects.raw_features), 2.0)
            ),
        )


@attrs.frozen
class CallsHome:
    """Says that it is offline, and asks a server."""

    kind, name, paper, capabilities, offline = "dataset", "calls_home", "", (), True

    def load(self, seed):
        import socket

        with socket.socket() as line:
            line.settimeout(0.01)
            line.connect(("127.0.0.1", 9))
        return tiny_table(0)


@attrs.frozen
class WorstByItsMeasure:
    """Keeps the first of three values, whatever the validation rows say."""

    kind, name, paper, capabilities, measure = "tuner", "worst_by_its_measure", "", (), "accuracy"

    def tune(self, fit, valid):
        tried = [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)]
        return tried[0]
