"""The kind ``missing``: every choice that its contract names grows trees that verify, and a run
asks for one of two things.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from toy_coverage import ToyExcluded

from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    CapabilityError,
    Column,
    ColumnKind,
    ConfigError,
    Context,
    ContractError,
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
from arboretum.engine.check import check_missing
from arboretum.model.rules import Bins, Equals, Threshold, Values
from arboretum.testing import MissingSuite
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import SEEDS, ToyGini, ToyReduction, TreeParts, problem_of, toy_table
from arboretum_basics.methods import BetterSide, Exact, Greedy
from arboretum_data.encoding.encoder import Missing, TestsEncoder


def choice(name, placements, counted=True, discounted=False, **more):
    """A component of the kind, made of a function."""
    body = {
        "kind": "missing",
        "name": name,
        "paper": "",
        "capabilities": (),
        "counted": counted,
        "discounted": discounted,
        "kernel": "",
    }
    # the suite sends no such class to another process
    body["__qualname__"] = f"choice.<locals>.{name}"
    return attrs.frozen(
        type(
            name,
            (),
            {
                "__doc__": f"{name}: a choice of the tests.",
                **body,
                "placements": lambda self, known: placements(known),
                **more,
            },
        )
    )


Fractional = choice("fractional", lambda known: [MISSING_SPLITS], counted=False, discounted=True)
Majority = choice("majority", lambda known: [int(np.argmax(known))])
Ignore = choice("ignore", lambda known: [MISSING_STOPS], counted=False)
Category = choice("category", lambda known: [len(known)])
EitherSide = choice(
    "either_side", lambda known: [0, 1] if len(known) == 2 else [int(np.argmax(known))]
)


def agreeing(self, rule, others, objects, rows, weight):
    """The three tests of other columns that agree best with the chosen one, outcome by outcome
    by majority.
    """
    own, found = rule.outcomes(objects.table, rows), []
    for other in others:
        if set(other.columns) & set(rule.columns):
            continue
        says, to, right = other.outcomes(objects.table, rows), [], 0.0
        for k in range(other.arity):
            mass = np.bincount(
                own[(says == k) & (own >= 0)], weight[(says == k) & (own >= 0)], rule.arity
            )
            to.append(int(mass.argmax()) if mass.any() else -1)
            right += mass.max()
        found.append((right, other, tuple(to)))
    return [(other, to) for _, other, to in sorted(found, key=lambda one: -one[0])[:3]]


Surrogates = choice(
    "surrogates", lambda known: [int(np.argmax(known))], counted=False, surrogates=agreeing
)


@pytest.mark.parametrize(
    "cls",
    [Fractional, Majority, Ignore, Category, Surrogates, BetterSide],
    ids=lambda cls: cls.__name__,
)
class TestChoices(MissingSuite):
    @pytest.fixture
    def component(self, cls):
        return cls()


def by(component, seed: int, **parts):
    problem = problem_of(
        toy_table(seed, n_rows=40, kind=TreeParts(missing=True)),
        Parts(
            method=None, criterion=ToyReduction(), impurity=ToyGini(), missing=component, **parts
        ),
    )
    return grow(problem, Context()).tree, problem


@pytest.mark.parametrize("seed", SEEDS)
def test_the_kernels_rule_asked_by_placements_gives_trees_as_good(seed):
    own, plain = by(EitherSide(), seed)[0], by(BetterSide(), seed)[0]
    assert own.score[0] == pytest.approx(plain.score[0], rel=1e-12)
    assert own.n_nodes == plain.n_nodes


def test_each_choice_leaves_its_mark_on_the_tree():
    trees = {
        cls: [by(cls(), seed)[0] for seed in SEEDS]
        for cls in (Fractional, Majority, Ignore, Category, Surrogates)
    }
    assert any(
        (tree.missing_child == MISSING_SPLITS).any() and (tree.counts % 1).any()
        for tree in trees[Fractional]
    )
    assert any(tree.surrogates for tree in trees[Surrogates])
    assert all((tree.missing_child == MISSING_STOPS).all() for tree in trees[Ignore])
    kinds = (Bins, Values)
    assert any(
        isinstance(rule, kinds) and rule.missing_outcome
        for tree in trees[Category]
        for rule in tree.rules
    )


def test_c45s_fractions_by_hand():
    """x ≤ 1: two of three known rows go left, so two thirds of the row without a value do; their
    gain, 4/9, counts three quarters.
    """
    x = Column("x", ColumnKind.continuous, np.array([1.0, 1.0, 2.0, np.nan]))
    table = Table(
        "four", (x,), Target("y", Task.classification, np.array([0, 0, 1, 1], np.int32), ("a", "b"))
    )
    objects = Encoded(
        table=table,
        features=(),
        codes=np.zeros((4, 0), np.uint8),
        raw_features=(RawFeature("x", 0),),
        raw=x.values[:, None],
        label=table.target.codes,
        y=None,
        weight=np.ones(4),
        count=np.ones(4, np.int64),
        object_of_row=np.arange(4),
    )
    problem = Problem(
        objects,
        Prices(np.zeros(0), np.ones(1)),
        Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), missing=Fractional()),
    )
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    tree = solution.tree
    assert tree.rules[0] == Threshold("x", 1.5) and tree.missing_child[0] == MISSING_SPLITS
    assert tree.weights.tolist() == [[2, 2], [2, pytest.approx(2 / 3)], [0, pytest.approx(4 / 3)]]
    assert tree.counts.tolist() == pytest.approx([4, 8 / 3, 4 / 3])
    assert tree.score[0] == pytest.approx(0.75 * 4 / 9)
    assert tree.predict_proba(table)[3].tolist() == pytest.approx(
        [2 / 3 * 3 / 4, 2 / 3 * 1 / 4 + 1 / 3]
    )


def test_a_choice_that_a_tree_cannot_hold_is_refused_by_name():
    for found in ([], [7], [-3], ["left"]):
        with pytest.raises(ContractError, match="missing 'odd'"):
            by(choice("odd", lambda known, found=found: found)(), 1)
    with pytest.raises(ContractError, match="one where rows are not counted"):
        by(choice("odd", lambda known: [0, 1], counted=False)(), 1)


def test_what_only_whole_rows_know_is_refused_with_the_way_out():
    with pytest.raises(
        CapabilityError,
        match="missing fractional grows by shares, which knows no coverage.*missing=better_side",
    ):
        by(Fractional(), 1, coverage=(ToyExcluded(),))


def test_prices_by_outcome_know_no_outcome_of_its_own():
    _, problem = by(Fractional(), 1)
    objects = problem.objects
    rows = np.array(
        [
            [1.0 + k for k in range(f.arity)] + [np.nan] * (3 - f.arity)
            for f in objects.features
            for _ in range(f.n_tests)
        ]
    )
    problem = attrs.evolve(problem, prices=Prices.by_outcome(rows))
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    assert solution.tree.branch_price is not None
    with pytest.raises(CapabilityError, match="outcome of their own.*cost=table"):
        grow(
            attrs.evolve(problem, parts=attrs.evolve(problem.parts, missing=Category())), Context()
        )


@pytest.mark.parametrize("least", [1, 4])
def test_limits_hold_for_rows_in_shares(least):
    from arboretum_basics.stopping import Standard

    for seed in SEEDS:
        tree, _ = by(
            Fractional(), seed, stopping=(Standard(min_leaf=least, max_depth=3, max_leaves=5),)
        )
        assert (
            tree.counts.min() >= least - 1e-9
            and tree.depth_of.max() <= 3
            and 1 < tree.n_leaves <= 5
        )


def test_a_run_asks_for_one_of_encoder_and_growth():
    parts = Parts(method=Greedy(), encoder=TestsEncoder(), missing=Fractional())
    check_missing(parts)
    check_missing(
        attrs.evolve(parts, missing=BetterSide(), encoder=TestsEncoder(missing=Missing.category))
    )
    with pytest.raises(
        ConfigError, match="missing=fractional and encoder.missing=category both say"
    ):
        check_missing(attrs.evolve(parts, encoder=TestsEncoder(missing=Missing.category)))
    with pytest.raises(
        CapabilityError,
        match="method exact does not ask missing=fractional; use missing=better_side",
    ):
        check_missing(attrs.evolve(parts, method=Exact()))


def test_rules_with_an_outcome_of_their_own_for_missing_values():
    assert Threshold("x", 1.5).with_missing() == Bins("x", (1.5,), missing_outcome=True)
    assert Values("c", ("a", "b")).with_missing() == Values("c", ("a", "b"), missing_outcome=True)
    assert Equals("c", "a").with_missing() is None
