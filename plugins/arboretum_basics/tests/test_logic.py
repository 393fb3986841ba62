"""Rules say of every row what the tree predicts; none of their terms can be wider or left out."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from drawn_trees import row_of, rows_like, tables, trees
from hypothesis import assume, given, settings, strategies as st

from arboretum.api import CapabilityError, TestRule, Threshold
from arboretum.engine.search.assemble import Grown, to_tree
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.testing.oracles import slow_tree
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_basics.exports import Rules
from arboretum_basics.logic import Dimension, _boxes_of_classes, minimised


def terms_of(tree):
    """Dimensions, boxes of each class by its leaves, and as they are minimised."""
    dimensions, boxes = _boxes_of_classes(tree)
    others = {
        label: [box for k, found in boxes.items() if k != label for box in found] for label in boxes
    }
    return (
        dimensions,
        boxes,
        {label: minimised(found, others[label], dimensions) for label, found in boxes.items()},
    )


def place(dimension, row):
    """Which of its values a row has; None for one that the training rows did not have."""
    if dimension.rule is not None:
        outcome = dimension.rule.outcome_of(row)
        return outcome if outcome >= 0 else None
    value = row[dimension.subject]
    if value is None or value != value:
        return dimension.values.index(None) if None in dimension.values else None
    if dimension.cuts is not None:
        return sum(cut < value for cut in dimension.cuts)
    return dimension.values.index(value) if value in dimension.values else None


@given(st.data())
@settings(deadline=None)
def test_rows_meet_the_terms_of_the_class_that_is_predicted_and_of_no_other(data):
    table = data.draw(tables())
    assume(table.task is Task.classification)
    tree, rows = data.draw(trees(table, splits=False)), data.draw(rows_like(table, unseen=False))
    dimensions, _, terms = terms_of(tree)
    for r, label in enumerate(tree.predict(rows).tolist()):
        places = [place(d, row_of(rows, r)) for d in dimensions]
        if None not in places:
            met = {
                k
                for k, found in terms.items()
                if any(
                    all(held >> at & 1 for held, at in zip(term, places, strict=True))
                    for term in found
                )
            }
            assert met == {label}
    assert Rules().write(tree).count(" if\n") == len(terms)


@pytest.mark.parametrize("seed", range(12))
def test_no_term_can_be_wider_or_left_out(seed):
    tree = slow_tree(toy_objects(toy_table(seed), multiway=seed % 2 == 0), max_depth=4)
    dimensions, boxes, terms = terms_of(tree)
    points = list(itertools.product(*([1 << k for k in range(len(d.values))] for d in dimensions)))

    def covered(found):
        return {
            point
            for point in points
            if any(all(a & b for a, b in zip(point, box, strict=True)) for box in found)
        }

    for label, found in terms.items():
        own = covered(boxes[label])
        assert covered(found) == own and len(found) <= len(boxes[label])
        for term in found:
            assert covered([one for one in found if one != term]) != own
            for at, d in enumerate(dimensions):
                assert all(
                    not covered([(*term[:at], term[at] | bits, *term[at + 1 :])]) <= own
                    for bits in d.wider(term[at])
                    if bits
                )


def test_literals_read_as_the_tree_spells_its_tests():
    number = Dimension("x", (1.0, 2.5, 3.0), (1.0, 2.5), digits={1.0: 6, 2.5: 6})
    assert [number.literal(held) for held in (1, 2, 4, 3, 6, 5)] == [
        "x ≤ 1",
        "1 < x ≤ 2.5",
        "x > 2.5",
        "x ≤ 2.5",
        "x > 1",
        "(x ≤ 1 or x > 2.5)",
    ]
    word = Dimension("c", ("red", "blue", "green", None))
    told = [
        "c = red",
        "(c = red or c is missing)",
        "c ≠ red",
        "c is missing",
        "c in {red, blue, green}",
    ]
    assert [word.literal(held) for held in (1, 9, 6, 8, 7)] == told
    size = Dimension("s", ("small", "middle", "large", None), ordered=True)
    assert [size.literal(held) for held in (1, 3, 6, 4, 5, 12)] == [
        "s ≤ small",
        "s ≤ middle",
        "s > small",
        "s > middle",
        "s ≠ middle",
        "(s > middle or s is missing)",
    ]
    assert Dimension("x", (0.0, None), ()).literal(1) == "x is known"


def test_a_class_without_a_leaf_a_leaf_alone_and_trees_that_have_no_rules():
    table = Table(
        "t",
        (Column("x", ColumnKind.continuous, np.arange(6.0)),),
        Target("y", Task.classification, np.array([0, 0, 0, 2, 2, 2], np.int32), ("a", "b", "c")),
    )
    tree = slow_tree(toy_objects(table))
    assert Rules().write(tree) == "a if\n     x ≤ 2.5\nb never\nc if\n     x > 2.5\n"
    assert Rules().write(tree.cut([0])).startswith("a if\n     always\n")
    numbers = Table("t", table.columns, Target("y", Task.regression, values=np.arange(6.0)))
    with pytest.raises(CapabilityError, match="rules are of classes"):
        Rules().write(slow_tree(toy_objects(numbers)))


@attrs.frozen
class Even(TestRule):
    """A test of one number that no cuts describe."""

    tag = "even_for_rules"
    column: str

    def outcome_of(self, row):
        return int(row[self.column] % 2)

    def outcomes(self, table, rows):
        return (table.column(self.column).values[rows] % 2).astype(np.int32)

    def outcome_label(self, outcome):
        return "is even" if outcome == 0 else "is odd"


def test_a_test_without_cuts_is_a_literal_of_its_own_beside_thresholds_of_its_column():
    table = Table(
        "t",
        (Column("x", ColumnKind.continuous, np.arange(6.0)),),
        Target("y", Task.classification, np.array([0, 0, 0, 1, 0, 1], np.int32), ("a", "b")),
    )
    objects = toy_objects(table)

    def node(rule, below, rows):
        return Grown(
            np.bincount(table.target.codes[rows], minlength=2).astype(float),
            len(rows),
            np.nan,
            np.nan,
            rule,
            below,
            -1,
            1.0,
        )

    low, high = np.arange(3), np.arange(3, 6)
    right = node(Even("x"), [node(None, [], high[1:2]), node(None, [], high[::2])], high)
    tree = to_tree(
        node(Threshold("x", 2.5), [node(None, [], low), right], np.arange(6)),
        objects,
    )
    assert (
        Rules().write(tree)
        == "a if\n     x is even\n  or x ≤ 2.5\nb if\n     x > 2.5 and x is odd\n"
    )
