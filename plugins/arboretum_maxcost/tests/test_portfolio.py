"""The best of several impurities at a budget."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import Context, Parts, Prices, Problem, grow
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_basics.costs import RandomIntegers
from arboretum_maxcost.greedy.criteria import WorstCase
from arboretum_maxcost.greedy.exact import error_and_costs_of
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers
from arboretum_maxcost.greedy.portfolio import BestOf
from arboretum_maxcost.stopping import Budget


@pytest.mark.parametrize("limit", [None, 0.0, 4.0, 9.0, 15.0])
@pytest.mark.parametrize("seed", range(6))
def test_no_impurity_of_it_does_better_alone(seed, limit):
    objects = toy_objects(toy_table(seed, 60))
    parts = Parts(
        method=None, criterion=WorstCase(), impurity=Powers(), stopping=(Budget(limit=limit),)
    )
    problem = Problem(objects, RandomIntegers().price_list(objects, seed), parts)
    method = BestOf(powers=(2, 3, 5), epsilons=(0.0, 0.03, 0.1))
    solution = method.fit(problem, Context())
    verify_solution(solution, problem)
    alone = [
        grow(attrs.evolve(problem, parts=attrs.evolve(parts, impurity=each)), Context()).tree
        for each in method.impurities_tried(Powers())
    ]
    assert len(alone) == 7 and error_and_costs_of(solution.tree, objects) == min(
        error_and_costs_of(one, objects) for one in alone
    )
    assert limit is None or error_and_costs_of(solution.tree, objects)[1] <= limit


def bills(tree, objects):
    """(error, worst-case cost, mean cost), row by row, of prices as they are written."""
    at, total = tree.apply(objects.table)[objects.row_of_object].tolist(), Fraction(0)
    wrong, mean, most = Fraction(0), Fraction(0), Fraction(0)
    for node, label, weight in zip(
        at, objects.label.tolist(), map(Fraction, objects.weight.tolist()), strict=True
    ):
        paid = sum((Fraction(str(tree.price[above])) for above, _ in tree.path(node)), Fraction(0))
        wrong = wrong + weight * (label != tree.label[node])
        mean = mean + weight * paid
        most = max(most, paid)
        total = total + weight
    return wrong / total, most, mean / total


@pytest.mark.parametrize(("n", "seed"), [(24, 29), (24, 33), (40, 8), (30, 1), (30, 2)])
def test_equal_bills_are_equal_whatever_floats_add_up_to(n, seed):
    """Of the first three, floats keep a tree whose mean cost is higher, for a worst-case cost of
    1.7 that adds up to 1.7000000000000002.
    """
    objects, draw = toy_objects(toy_table(seed, n)), np.random.default_rng(seed)
    drawn = [
        draw.choice([1.3, 0.7, 0.1, 0.3, 1.1, 0.2], int(objects.test_offset[-1])),
        draw.choice([1.3, 0.7, 0.1, 0.3], len(objects.raw_features)),
    ]
    parts = Parts(
        method=None, criterion=WorstCase(), impurity=Powers(), stopping=(Budget(limit=None),)
    )
    problem = Problem(objects, Prices(*drawn), parts)
    method = BestOf(powers=(2, 3, 5), epsilons=(0.0, 0.03, 0.1))
    alone = [
        grow(attrs.evolve(problem, parts=attrs.evolve(parts, impurity=each)), Context()).tree
        for each in method.impurities_tried(Powers())
    ]
    kept = method.fit(problem, Context()).tree
    assert (
        bills(kept, objects)
        == error_and_costs_of(kept, objects)
        == min(bills(one, objects) for one in alone)
    )


def test_the_tree_has_the_impurity_of_the_run_whichever_grew_it():
    found = 0
    for dataset in ("monk2-full", "balance-scale", "tic-tac-toe"):
        record = arboretum.run(
            [
                "method=portfolio",
                f"dataset={dataset}",
                "split=none",
                "tracker=none",
                "cost=random",
                "stopping.max_cost.limit=14",
            ]
        )
        pairs = Powers().value(record.tree.weights) / 2
        assert record.verified and np.allclose(record.tree.impurity, pairs)
        found += any("impurities rt is kept" in note for note in record.notes)
    assert found < 3, "nowhere another impurity than the run's was better: nothing was tried"


def test_the_1024_objects_err_four_times_at_a_budget_of_two():
    record = arboretum.run(
        [
            "method=portfolio",
            "dataset=dfep-synthetic",
            "split=none",
            "tracker=none",
            "stopping.max_cost.limit=2",
        ]
    )
    assert record.metrics["train_error"] == 4 / 1024
    assert any(
        note.startswith("of 11 impurities rt is kept: training error 0.003906, max cost 2")
        for note in record.notes
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"powers": (1,)}, "method.powers: must be ≥ 2"),
        ({"epsilons": (-0.1,)}, "method.epsilons: must be ≥ 0"),
        ({"epsilons": (float("nan"),)}, "method.epsilons"),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields, said):
    with pytest.raises(ValueError, match=said):
        BestOf(**fields)


def test_a_share_of_nothing_is_pairs():
    assert HingedPairs(epsilon=0.0) in BestOf().impurities_tried(Powers())
