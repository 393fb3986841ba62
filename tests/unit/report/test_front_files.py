"""A run folder keeps a front whose page is whole by itself; a point that is not what its tree
says fails verification.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import attrs
import pytest

from arboretum.api import Front, FrontPoint, Parts, Problem, Solution, Status, StoreError
from arboretum.engine.verify import check_front
from arboretum.errors import VerificationError
from arboretum.model.record import Record
from arboretum.report.front import front_chart, front_rows
from arboretum.runs.folder import FRONTS, artifacts, read_run, write_run
from arboretum.testing.oracles import slow_tree
from arboretum.testing.tables import prices_of, toy_objects, toy_table

AXES = ("train_error", "expected_cost")


@pytest.fixture(scope="module")
def posed() -> Problem:
    objects = toy_objects(toy_table(0))
    return Problem(objects, prices_of(objects), Parts(method=None))


def front_of(problem: Problem, **more) -> Front:
    """A greedy tree cut back in three ways."""
    from arboretum.measure import complexities

    tree = slow_tree(problem.objects, problem.prices)
    table = problem.objects.table
    points = []
    for one in (tree.cut([0]), tree.cut(tree.children(0)), tree):
        wrong = (
            table.row_weights()[one.predict(table) != table.target.codes].sum()
            / table.row_weights().sum()
        )
        points.append(FrontPoint((float(wrong), complexities(one)["expected_cost"]), one))
    return Front(AXES, points, more.pop("bound", [point.values for point in points]), **more)


def record_of(front: Front) -> Record:
    best = front.most_accurate
    solution = Solution(best.tree, best.values[0], best.values[0], Status.optimal, front=front)
    return Record(
        {"choices": {"method": "<b>front"}},
        0,
        {},
        {"name": "toy"},
        {},
        {},
        solution,
        verified=True,
        tree=best.tree,
    )


def test_a_front_comes_back_from_its_folder_with_its_trees(posed, tmp_path):
    front = front_of(posed)
    files = artifacts(record_of(front))
    assert set(FRONTS) <= files.keys()
    write_run(tmp_path, files)
    again = read_run(tmp_path)
    assert again.verified
    assert again.solution.front == front
    assert [point.tree for point in again.solution.front.points] == [
        point.tree for point in front.points
    ]
    (tmp_path / FRONTS[0]).write_text(files[FRONTS[0]].replace('"counts": [24', '"counts": [25', 1))
    assert not read_run(tmp_path).verified
    assert "front.json is not the front that was verified" in read_run(tmp_path).notes[-1]
    (tmp_path / FRONTS[0]).write_text("{}")
    with pytest.raises(StoreError):
        read_run(tmp_path)


def test_the_page_needs_no_other_file_and_every_link_leads_somewhere(posed):
    page = front_of(posed).files("<b>front")["front.html"]
    assert "<b>front" not in page, "hostile names are escaped"
    targets = set(re.findall(r'href="#(point-\d+|chart)"', page))
    assert targets == {"point-0", "point-1", "point-2", "chart"}
    assert all(f'id="{target}"' in page for target in targets)
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page), "it works without network"
    assert page.count("<section") == 3


def test_the_chart_alone_links_to_the_page(posed):
    svg = front_of(posed).files("front")["front.svg"]
    ElementTree.fromstring(svg)
    assert svg.count('href="front.html#point-') == 3


def test_the_bound_is_drawn_where_it_differs_and_curves_are_drawn_beside(posed):
    exact = front_of(posed, curves={"greedy": ((0.5, 1.0), (0.6, 2.0), (0.25, 3.0))})
    names = [line.label for line in front_chart(exact).lines]
    assert names == ["greedy", "front"]
    assert list(front_chart(exact).lines[0].y) == [0.5, 0.25], "what is beaten is no step"
    loose = front_of(posed, bound=[(0.0, 0.0)])
    assert [line.label for line in front_chart(loose).lines] == [
        "proven: no tree is below",
        "front",
    ]
    assert "above the least error" in front_chart(loose).subtitle


def test_a_long_front_is_shown_from_end_to_end():
    front = Front(AXES, [FrontPoint((1 - k / 100, float(k))) for k in range(100)], [(0.0, 0.0)])
    rows = front_rows(front, most=24)
    assert (
        len(rows) == 24
        and rows[0] == {"error": 1.0, "expected cost": 0.0}
        and rows[-1]["expected cost"] == 99.0
    )
    assert len(front_chart(front).lines) == 2


def test_verification_replays_the_tree_of_every_point(posed):
    front, table = front_of(posed), posed.objects.table
    assert check_front(front, posed, table) == "3 of 3 points by their trees"
    bare = attrs.evolve(front, points=[attrs.evolve(front.points[0], tree=None), *front.points[1:]])
    assert check_front(bare, posed, table) == "2 of 3 points by their trees"
    for axis in (0, 1):
        values = list(front.points[1].values)
        values[axis] += 1e-6
        points = [front.points[0], FrontPoint(values, front.points[1].tree), front.points[2]]
        with pytest.raises(VerificationError, match=f"point 1 of the front: {AXES[axis]}"):
            check_front(attrs.evolve(front, points=points, bound=[(0.0, 0.0)]), posed, table)
    with pytest.raises(VerificationError, match="unheard_of"):
        check_front(attrs.evolve(front, axes=("train_error", "unheard_of")), posed, table)
