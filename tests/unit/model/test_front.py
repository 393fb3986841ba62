"""A front refuses what is none, knows its gap, and comes back from JSON with its trees."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.errors import ContractError, StoreError
from arboretum.model.front import Front, Point, unbeaten
from arboretum.model.record import Record, Solution, Status
from arboretum.model.rules import Threshold
from arboretum.model.table import ColumnKind, Task
from arboretum.model.tree import ColumnSpec, Tree

LEVELS = st.sampled_from([0.0, 0.5, 1.0, 1.25, 2.0])  # with slack 0.5, exact


@given(st.lists(st.tuples(*[LEVELS] * 3), max_size=9), st.integers(1, 3))
def test_unbeaten_points_by_brute_force(points, axes):
    points = [point[:axes] for point in points]
    at_or_below = lambda one, other: all(a <= b for a, b in zip(one, other, strict=True))
    wanted = [
        number
        for number, point in enumerate(points)
        if not any(
            at_or_below(other, point) and (other != point or place < number)
            for place, other in enumerate(points)
        )
    ]
    found = unbeaten(np.array(points).reshape(-1, axes)).tolist()
    assert sorted(found) == wanted
    assert [points[number][1:] for number in found] == sorted(points[n][1:] for n in wanted)


@given(st.lists(st.tuples(LEVELS, LEVELS), max_size=9))
def test_what_is_no_further_below_than_the_slack_counts_as_equal(points):
    kept, least = [], math.inf
    for number in sorted(range(len(points)), key=lambda number: points[number][::-1]):
        if points[number][0] < least - 0.5:
            kept.append(number)
        least = min(least, points[number][0])
    assert unbeaten(np.array(points).reshape(-1, 2), 0.5).tolist() == kept


def split_tree() -> Tree:
    """One test, two leaves."""
    return Tree(
        task=Task.classification,
        columns=(ColumnSpec("x", ColumnKind.continuous),),
        classes=("a", "b"),
        rules=(Threshold("x", 0.5),),
        test=[0, -1, -1],
        child_offset=[0, 2, 2, 2],
        child=[1, 2],
        missing_child=[-1] * 3,
        weights=[[1, 1], [1, 0], [0, 1]],
        counts=[2, 1, 1],
        label=[0, 0, 1],
        value=[math.nan] * 3,
        price=[2.0, 0.0, 0.0],
        impurity=[math.nan] * 3,
        score=[math.nan] * 3,
    )


AXES = ("train_error", "max_cost")


def front(points, bound=None, axes=AXES, **more) -> Front:
    return Front(
        axes, [Point(values) for values in points], points if bound is None else bound, **more
    )


def test_a_front_that_meets_its_bound_is_exact():
    found = front([(0.5, 0.0), (0.25, 1.0), (0.0, 3.0)])
    assert found.gap == 0.0
    assert [found.error_within([budget]) for budget in (0.0, 2.5, 3.0)] == [0.5, 0.25, 0.0]
    assert found.error_within([-1.0]) == math.inf
    assert found.most_accurate.values == (0.0, 3.0)


def test_the_gap_is_the_largest_at_any_budget():
    found = front(
        [(0.5, 0.0), (0.25, 2.0), (0.0, 3.0)], bound=[(0.5, 0.0), (0.125, 1.0), (0.0, 3.0)]
    )
    assert found.gap == 0.5 - 0.125  # at budget 1 the front is still a leaf
    assert front([(0.5, 1.0)], bound=[(0.5, 0.0)]).gap == math.inf  # at budget 0 nothing is known


def test_three_axes_are_ordered_by_the_second_and_the_third():
    axes = (*AXES, "n_leaves")
    found = front(
        [(0.5, 0.0, 1.0), (0.25, 1.0, 4.0), (0.375, 2.0, 2.0), (0.125, 2.0, 4.0)], axes=axes
    )
    assert found.gap == 0.0
    assert found.error_within([2.0, 3.0]) == 0.375


@pytest.mark.parametrize(
    ("points", "bound", "said"),
    [
        ([], [], "and a point"),
        ([(0.25, 1.0), (0.5, 0.0)], None, "ascend in max_cost"),
        ([(0.5, 0.0), (0.5, 1.0)], None, "(0.5, 0.0) beats (0.5, 1.0)"),
        ([(0.5, 0.0), (math.nan, 1.0)], None, "finite number"),
        ([(0.5,)], None, "finite number"),
        ([(0.5, 0.0)], [(0.75, 0.0)], "at or above a corner"),
        ([(0.5, 0.0)], [], "at or above a corner"),
    ],
)
def test_what_is_no_front_is_refused(points, bound, said):
    with pytest.raises(ContractError, match="front|corner|ascend") as error:
        front(points, bound)
    assert said in str(error.value)


def test_a_front_comes_back_from_json():
    small_tree = split_tree()
    found = Front(
        AXES,
        [Point((0.5, 0.0), small_tree.cut([0])), Point((0.0, 2.0), small_tree)],
        [(0.5, 0.0), (0.0, 1.0)],
        {"greedy": ((0.5, 1.0),)},
    )
    again = Front.from_json(json.loads(found.text()))
    assert again == found
    assert [point.tree for point in again.points] == [point.tree for point in found.points]
    numbers = Front.from_json(found.to_json())
    assert numbers == found
    assert numbers.points[0].tree is None


def test_a_record_keeps_the_numbers_of_its_front():
    found = front([(0.5, 0.0), (0.0, 2.0)])
    solution = Solution(None, 0.0, 0.0, Status.optimal, 3, front=found)
    kept = Record({}, 1, {}, {}, {}, {}, solution, verified=True, tree=None)
    assert Record.from_json(kept.to_json()).solution.front == found
    with pytest.raises(StoreError, match="corner of the bound"):
        data = json.loads(kept.to_json())
        data["solution"]["front"]["points"][0] = [0.25, 0]
        Record.from_json(json.dumps(data))
