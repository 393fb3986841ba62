"""Figure 4: error against max cost on nine data sets, by Powers with early stopping and by hinged
Pairs over α.

Every tree is a point: its maximum path cost (all prices are 1), and the share of the
objects, those it grew on, that it has wrong.  Powers(l) is grown once, to the end, and stopped at
all δ that differ; hinged Pairs is grown with α = 0, 1, 2 … up to n/2.
"""

import attrs
import numpy as np

from arboretum.api import Context, Encoded, Facts, Key, Piece, Services, VerificationError
from arboretum_maxcost.greedy.tradeoff import (
    Curve,
    curve_of_forests,
    curve_over_delta,
    grow_for_hinges,
    hinge_values,
    stop_at_impurity,
)
from arboretum_maxcost.optimal.budgeted import pareto_step_function
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.paper.study import (
    Measured,
    grow_tree,
    load_objects,
    parts_of_greedytree,
    pose_problem,
    published,
    verify_measures,
)

HINGED = "hinged Pairs"
POWERS = tuple(f"Powers({l})" for l in (2, 3, 4, 5))
FUNCTIONS = (*POWERS, HINGED)
LEAST = "least possible"
UNPROVEN = ("dna",)
"""Where proofs of the least error take minutes: 180 tests."""
MEGABYTES = 1500
"""For a proof."""
TOP = 2
"""Levels of tests whose evenness is looked at."""
COST = {
    "house-votes": 1,
    "sonar": 3,
    "ionosphere": 3,
    "boston-quartile": 2,
    "soybean": 2,
    "pima": 4,
    "wdbc": 3,
    "mammography": 1,
    "dna": 60,
}
"""Data set → what sweeping α takes, in tenths of a second; other functions grow once."""


def pieces(paper: MaxCostStudy) -> list[Piece]:
    """Return a piece for the curve of every wanted data set and function F, and for the least
    possible errors of all data sets but UNPROVEN.
    """
    return [
        Piece(
            {"chapter": "figure4", "dataset": name, "function": function},
            0.1 * (COST[name] if function == HINGED else 0.3 * COST[name]) + 0.1,
        )
        for name in published()["datasets"]
        if paper.wants(name)
        for function in FUNCTIONS + (LEAST,) * (name not in UNPROVEN)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return the lowest error per max cost, and how the top of the trees divides.

    points : rows of [max cost, errors, δ or α, leaves, expected cost], ascending in max cost,
        descending in errors, each tree replayed.
    trees : how many settings there were.
    top : medians of :func:`evenness_of_top` over the trees that ask anything.
    """
    objects, function = load_objects(services, key["dataset"]), key["function"]
    if function == LEAST:
        return _least_errors(objects, services)
    curve, tops = (
        _curve_of_hinged_pairs(objects, services)
        if function == HINGED
        else _curve_of_powers(objects, int(function[7]), services)
    )
    wrong, kept = np.rint(curve.error * objects.n_objects), curve.lowest()
    columns = curve.max_cost, wrong, curve.at, curve.n_leaves, curve.expected_cost
    points = np.column_stack([column[kept] for column in columns]).tolist()
    return {
        "objects": objects.n_objects,
        "points": points,
        "trees": len(curve),
        "top": np.median(tops, axis=0).tolist(),
    }


def _curve_of_powers(
    objects: Encoded, exponent: int, services: Services
) -> tuple[Curve, list[list[float]]]:
    """Return the curve of one tree, stopped everywhere, and how its top divides; what stays of it
    at the points of the curve is replayed.

    exponent : l of Powers.
    """
    tree = grow_tree(objects, parts_of_greedytree(services, "powers", (("l", exponent),)))
    curve = curve_over_delta(tree)
    for place in curve.lowest():
        verify_measures(
            stop_at_impurity(tree, float(curve.at[place])),
            objects,
            curve.error[place] * objects.n_objects,
            curve.max_cost[place],
        )
    return curve, [evenness_of_top(tree.parent, ~tree.is_leaf, tree.weights)]


def _curve_of_hinged_pairs(objects: Encoded, services: Services) -> tuple[Curve, list[list[float]]]:
    """Return the curve of a tree per α on ``objects``, and how their tops divide, where they do;
    growing many checks each of them.
    """
    problem = pose_problem(objects, parts_of_greedytree(services, "hinged_pairs"))
    alphas = hinge_values(np.bincount(objects.label).astype(float))
    forests = list(grow_for_hinges(problem, alphas))
    tops = [
        evenness_of_top(
            forest.integers[3, tree], forest.integers[0, tree] >= 0, forest.weights[tree]
        )
        for forest, _ in forests
        for tree in map(slice, forest.start[:-1], forest.start[1:])
    ]
    return curve_of_forests(alphas, forests), [
        found for found, alpha in zip(tops, alphas, strict=True) if alpha > 0.0 and found
    ]


def _least_errors(objects: Encoded, services: Services) -> Facts:
    """Return the least errors of any tree on ``objects`` for every max cost, proven, each with a
    tree that has them, as a curve's piece does.

    "points" : [max cost, errors, None for a setting, leaves, expected cost].
    """
    parts = attrs.evolve(
        parts_of_greedytree(services, "pairs"), stopping=()
    )  # a leaf wherever it is best
    found = pareto_step_function(
        pose_problem(objects, parts), Context(memory_bytes=MEGABYTES * 1_000_000)
    )
    proven = [(float(step.budget), int(step.errors)) for step in found.steps]
    if not found.exact or proven != [
        (float(budget), int(errors)) for budget, errors in found.lower
    ]:
        raise VerificationError(
            f"verification failed: the least errors are not proven within {MEGABYTES} MB"
        )
    points = []
    for step, (budget, errors) in zip(found.steps, proven, strict=True):
        tree = verify_measures(step.tree, objects, errors, budget)
        points.append(
            [budget, errors, None, tree.n_leaves, Measured.walk(tree, objects).expected_cost]
        )
    return {"objects": objects.n_objects, "points": points, "trees": 0, "top": []}


def evenness_of_top(parent: np.ndarray, asks: np.ndarray, weights: np.ndarray) -> list[float]:
    """Evenness of the tests of the first two levels, the share of objects in error after them, and
    both of the root's test; empty for a leaf.

    The evenness of a test is 1 minus the share of its largest branch, what the worst case is sure
    to leave out; over the tests of these levels it is averaged by the objects that meet them.

    parent : int[nodes], −1 at the root.
    asks : bool[nodes].
    weights : float64[nodes, classes].
    """
    if not asks[0]:
        return []
    mass, first, root = weights.sum(axis=1), parent == 0, parent < 0
    largest, second = np.zeros(len(mass)), (parent > 0) & first[parent]
    np.maximum.at(largest, parent[1:], mass[1:])
    tests, ends = asks & (root | first), second | (first & ~asks)
    wrong = (mass - weights.max(axis=1)) / mass[0]
    evenness = [1.0 - float(largest[asked].sum() / mass[asked].sum()) for asked in (tests, root)]
    return [evenness[0], float(wrong[ends].sum()), evenness[1], float(wrong[first].sum())]
