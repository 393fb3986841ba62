"""Tests made at the node: a predicate of one's own grows verified trees, pays for what it reads,
and is held to its contract.
"""

from __future__ import annotations

import itertools
from typing import ClassVar

import attrs
import numpy as np
import pytest

from arboretum.api import CapabilityError, ContractError, Prices, TestRule, VerificationError
from arboretum.engine.run import Request, run
from arboretum.engine.verify import check_prices
from arboretum.interfaces.method import Parts
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum_basics.costs import PerColumn, SetUp, TablePrices, Unit
from arboretum_basics.methods import Exact, Greedy, Order
from arboretum_basics.stopping import Standard
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import AbsoluteError, Auto
from arboretum_data.encoding.encoder import AutoEncoder, BinsEncoder, Coalesce


@attrs.frozen
class Oblique(TestRule):
    """a + b ≤ bound."""

    tag: ClassVar[str] = "oblique_of_this_test"
    a: str
    b: str
    bound: float

    @property
    def columns(self):
        return (self.a, self.b)

    def outcomes(self, table, rows):
        total = table.column(self.a).values[rows].astype(float) + table.column(self.b).values[rows]
        return np.where(np.isnan(total), -1, total > self.bound).astype(np.int32)

    def outcome_of(self, row):
        values = [row[self.a], row[self.b]]
        if any(value is None or value != value for value in values):
            return -1
        return int(float(values[0]) + float(values[1]) > self.bound)

    def outcome_label(self, outcome):
        return f"{'≤' if outcome == 0 else '>'} {self.bound:g}"

    def describe(self):
        return f"{self.a} + {self.b} {self.outcome_label(0)}"


@attrs.frozen
class Sums:
    """Sums of two numbers, at some bounds drawn from the node's rows."""

    kind = "predicate"
    name = "sums"
    paper = ""
    capabilities = ()

    def candidates(self, objects, rows, seed):
        generator = np.random.default_rng([seed, len(rows)])
        names = [feature.column for feature in objects.raw_features]
        own, found = objects.row_of_object[rows], []
        for a, b in itertools.pairwise(names):
            total = (
                objects.table.column(a).values[own].astype(float)
                + objects.table.column(b).values[own]
            )
            total = total[~np.isnan(total)]
            if len(total):
                found += [Oblique(a, b, float(bound)) for bound in generator.choice(total, 8)]
        return found


@attrs.frozen
class Fixed:
    """Whatever it is given."""

    found: object
    kind = "predicate"
    name = "fixed"

    def candidates(self, objects, rows, seed):
        return self.found(objects, rows, seed) if callable(self.found) else self.found


@attrs.frozen
class Data:
    kind = "dataset"
    name = "sums"
    capabilities = ()
    task: Task = Task.classification
    missing: bool = True

    def load(self, seed):
        generator = np.random.default_rng(seed)
        values = generator.normal(size=(200, 3)).round(1)
        total = values[:, 0] + values[:, 1]
        if self.missing:
            values[generator.random((200, 3)) < 0.05] = np.nan
        columns = [Column(f"x{f}", ColumnKind.continuous, values[:, f]) for f in range(3)]
        columns.append(
            Column(
                "word",
                ColumnKind.categorical,
                generator.integers(0, 3, 200).astype(np.int32),
                ("p", "q", "r"),
            )
        )
        if self.task is Task.classification:
            goal = Target("y", self.task, (total > 0.3).astype(np.int32), ("no", "yes"))
        else:
            goal = Target("y", self.task, values=total)
        return Table("sums", tuple(columns), goal)


def parts(predicate, **more):
    chosen = {
        "method": Greedy(),
        "dataset": Data(),
        "encoder": AutoEncoder(),
        "impurity": Auto(),
        "criterion": Reduction(),
        "stopping": (Standard(max_depth=4),),
        "cost": Unit(),
        "predicate": predicate,
    }
    return Parts(**{**chosen, **more})


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize("task", list(Task))
def test_a_predicate_of_ones_own_grows_a_verified_tree_of_its_tests(task, order):
    record = run(Request(parts(Sums(), dataset=Data(task), method=Greedy(order=order)), seed=1))
    assert record.verified and record.tree.n_leaves > 4
    assert {type(rule) for rule in record.tree.rules} == {Oblique}


COSTS = {
    "table": TablePrices({"x0": 2.0, "x1": 3.0, "x2": 7.0}),
    "once": PerColumn({"x0": 2.0, "x1": 3.0, "x2": 7.0}),
    "set up": SetUp(
        {"x0": 2.0, "x1": 3.0, "x2": 7.0}, groups={"x0": "lab", "x2": "lab"}, set_up={"lab": 10.0}
    ),
}


def by_hand(tree, kind):
    """Prices of the inner nodes from the three price lists above, read off the tests on each
    path.
    """
    price, found = {"x0": 2.0, "x1": 3.0, "x2": 7.0}, np.zeros(tree.n_nodes)
    for v in np.flatnonzero(~tree.is_leaf):
        asked = {name for above, _ in tree.path(int(v)) for name in tree.rule(above).columns}
        for name in tree.rule(int(v)).columns:
            if kind == "once":
                found[v] += 0.0 if name in asked else price[name]
            else:
                ready = kind != "set up" or name == "x1" or asked & {"x0", "x2"}
                found[v] += price[name] + (0.0 if ready else 10.0)
    return found


@pytest.mark.parametrize("kind", list(COSTS))
def test_a_test_of_two_columns_costs_what_both_cost_and_a_changed_price_is_found(kind):
    chosen = parts(Sums(), cost=COSTS[kind])
    tree = run(Request(chosen, seed=2)).tree
    np.testing.assert_array_equal(tree.price, by_hand(tree, kind))
    table = Data().load(2)
    objects = AutoEncoder().encode(table, table, raw_thresholds=True, seed=2)
    prices = COSTS[kind].price_list(objects, 2)
    check_prices(tree, objects, prices)
    for v in np.flatnonzero(~tree.is_leaf):
        changed = tree.price.copy()
        changed[v] += 1.0
        with pytest.raises(VerificationError, match="price"):
            check_prices(attrs.evolve(tree, price=changed), objects, prices)


def test_a_node_without_candidates_is_a_leaf():
    assert run(Request(parts(Fixed(())))).tree.n_nodes == 1


def test_the_same_seed_draws_the_same_tests():
    trees = [run(Request(parts(Sums()), seed=seed)).tree for seed in (1, 1, 2)]
    assert trees[0].to_json() == trees[1].to_json() != trees[2].to_json()


CALLS = []


@pytest.mark.parametrize(
    "found, complaint",
    [
        (("x0 <= 1",), "must return tests"),
        (lambda objects, rows, seed: 1 / 0, "ZeroDivisionError"),
        (
            lambda objects, rows, seed: CALLS.append(1) or [Oblique("x0", "x1", float(len(CALLS)))],
            "in two ways",
        ),
        (lambda objects, rows, seed: [Far("x0", "x1", 0.0)], "one whole number per row"),
    ],
    ids=["no test", "raises", "unsteady", "outcome that is none"],
)
def test_a_broken_promise_is_named(found, complaint):
    with pytest.raises(ContractError, match=f"predicate 'fixed'.*{complaint}"):
        run(Request(parts(Fixed(found))))


class Far(Oblique):
    tag = "far_of_this_test"

    def outcomes(self, table, rows):
        return super().outcomes(table, rows) + 5


@pytest.mark.parametrize(
    "more, complaint",
    [
        ({"method": Exact(), "solver": Unit()}, "method exact asks no predicate"),
        ({"method": Greedy(allow_constant=True)}, "allow_constant"),
        ({"impurity": AbsoluteError(), "dataset": Data(Task.regression)}, "impurity=variance"),
        ({"encoder": BinsEncoder(coalesce=Coalesce.sum)}, "encoder.coalesce=none"),
    ],
    ids=["solver", "constant tests", "values at the node", "merged rows"],
)
def test_what_no_predicate_can_serve_is_refused(more, complaint):
    with pytest.raises(CapabilityError, match=complaint):
        run(Request(parts(Sums(), **more)))


def test_a_solver_beside_a_method_that_asks_none_is_refused():
    with pytest.raises(
        CapabilityError, match="method greedy asks no solver; leave .* out, or use method=exact"
    ):
        run(Request(parts(Sums(), solver=Unit())))


def test_a_column_without_a_price_is_named():
    chosen = parts(Fixed([Oblique("x0", "x1", 0.0)]), encoder=_Without())
    with pytest.raises(CapabilityError, match="has no price"):
        run(Request(chosen))


class _Without:
    """Leaves one column out."""

    kind = "encoder"
    name = "without"
    capabilities = ()

    def encode(self, table, whole, *, raw_thresholds, seed):
        found = AutoEncoder().encode(table, whole, raw_thresholds=raw_thresholds, seed=seed)
        return attrs.evolve(found, raw_features=found.raw_features[1:], raw=found.raw[:, 1:])


def test_prices_of_coded_columns_are_those_of_their_dearest_test():
    from arboretum.engine.search.node_tests import column_prices

    table = Data().load(0)
    objects = AutoEncoder().encode(table, table, raw_thresholds=True, seed=0)
    prices = Prices(np.arange(1.0, 1.0 + objects.test_offset[-1]), np.array([5.0, 6.0, 7.0]))
    assert column_prices(objects, prices, frozenset()) == {
        "word": prices.tests.max(),
        "x0": 5.0,
        "x1": 6.0,
        "x2": 7.0,
    }
