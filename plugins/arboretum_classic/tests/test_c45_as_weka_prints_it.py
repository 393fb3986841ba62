"""J48's trees as Weka 3.6.14 printed them: for play-tennis, and for tables with gaps that are
like labor negotiations and votes.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from arboretum.api import Column, ColumnKind, Table, Target, Task, Threshold, Tree
from arboretum.engine.run import fit
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum_data.generated import play_tennis

HOUSE = RegistryFactory(load_registry())


def column(name: str, values: np.ndarray, categories: tuple[str, ...] = ()) -> Column:
    """A number, NaN where it is missing, or codes of categories, negative where they are."""
    return Column(
        name, ColumnKind.categorical if categories else ColumnKind.continuous, values, categories
    )


def with_gaps(
    name: str,
    columns: list[Column],
    gaps: float,
    label: np.ndarray,
    classes: tuple[str, ...],
    random,
) -> Table:
    kept = []
    for one in columns:
        lost = random.random(len(label)) < gaps
        values = (
            np.where(lost, -1, one.values).astype(np.int32)
            if one.categories
            else np.where(lost, np.nan, one.values)
        )
        kept.append(column(one.name, values, one.categories))
    return Table(
        name, tuple(kept), Target("class", Task.classification, label.astype(np.int32), classes)
    )


@functools.cache
def labor() -> Table:
    """57 agreements: numbers in halves, three or four words a column, a third of the cells
    empty; one word never used.
    """
    random = np.random.default_rng(12)
    wage = random.integers(4, 15, 57) / 2
    hours = random.integers(70, 81, 57) / 2
    holidays = random.integers(9, 16, 57)
    pension = random.integers(0, 3, 57)
    vacation = random.integers(0, 3, 57)
    aid = random.integers(0, 2, 57)
    good = wage + (vacation - 1) + 2 * aid + random.normal(0, 0.7, 57) > 5
    columns = [
        column("wage", wage),
        column("hours", hours),
        column("pension", pension, ("none", "ret_allw", "empl_contr")),
        column("holidays", holidays.astype(float)),
        column("vacation", vacation, ("below", "average", "generous", "unheard_of")),
        column("aid", aid, ("no", "yes")),
    ]
    return with_gaps("labor", columns, 0.33, good, ("bad", "good"), random)


@functools.cache
def votes() -> Table:
    """435 members, sixteen votes, a twentieth not cast."""
    random = np.random.default_rng(7)
    party = random.random(435) < 0.39
    loyal = np.linspace(0.55, 0.95, 16)
    cast = [np.where(random.random(435) < p, party, ~party) for p in loyal]
    columns = [column(f"v{k + 1}", own.astype(np.int64), ("n", "y")) for k, own in enumerate(cast)]
    return with_gaps("votes", columns, 0.05, party, ("democrat", "republican"), random)


def printed(tree: Tree, table: Table, node: int = 0, indent: str = "") -> list[str]:
    """The lines of a tree as Weka writes them: weights, and those of other classes, in
    hundredths; a branch without rows names the first class.
    """
    rule, lines = tree.rules[tree.test[node]], []
    for outcome, child in enumerate(
        tree.child[tree.child_offset[node] : tree.child_offset[node + 1]].tolist()
    ):
        name = rule.columns[0]
        number = isinstance(rule, Threshold)
        asked = (
            f"{name} {'<=>'[2 * outcome : 2 * outcome + 2]} {rule.threshold:g}"
            if number
            else f"{name} = {table.column(name).categories[outcome]}"
        )
        if child >= 0 and not tree.is_leaf[child]:
            lines += [indent + asked, *printed(tree, table, child, indent + "|   ")]
            continue
        weights, label = (
            (tree.weights[child], tree.label[child]) if child >= 0 else (np.zeros(1), 0)
        )
        wrong = round(float(weights.sum() - weights.max()), 2)
        lines.append(
            f"{indent}{asked}: {tree.classes[label]} "
            f"({round(float(weights.sum()), 2)}{f'/{wrong}' if wrong else ''})"
        )
    return lines


def grown(table: Table, values: dict | None = None, **choices: str) -> Tree:
    return fit(
        HOUSE.parts({"method": "j48", "split": "none", **choices}, values or {}), table
    ).solution.tree


TENNIS = """
outlook = overcast: yes (4.0)
outlook = rainy
|   windy = false: yes (3.0)
|   windy = true: no (2.0)
outlook = sunny
|   humidity = high: no (3.0)
|   humidity = normal: yes (2.0)
"""
LABOR = """
wage <= 4.5: bad (33.37/10.85)
wage > 4.5: good (23.63/2.49)
"""
LABOR_UNPRUNED = """
wage <= 4.5
|   vacation = below: bad (12.43/3.8)
|   vacation = average: bad (8.15/0.57)
|   vacation = generous
|   |   pension = none: good (4.93/1.38)
|   |   pension = ret_allw: bad (2.15/0.58)
|   |   pension = empl_contr: bad (5.71/2.35)
|   vacation = unheard_of: bad (0.0)
wage > 4.5: good (23.63/2.49)
"""
VOTES = """
v16 = n
|   v15 = n: democrat (228.43)
|   v15 = y
|   |   v13 = n: democrat (16.39)
|   |   v13 = y
|   |   |   v9 = n: democrat (5.32/0.94)
|   |   |   v9 = y: republican (10.23/0.18)
v16 = y
|   v13 = n
|   |   v15 = n: democrat (16.84/1.54)
|   |   v15 = y: republican (14.41/1.59)
|   v13 = y: republican (143.38/1.73)
"""


@pytest.mark.parametrize(
    ("table", "choices", "stated"),
    [
        (play_tennis, {}, TENNIS),
        (labor, {}, LABOR),
        (labor, {"pruner": "none"}, LABOR_UNPRUNED),
        (votes, {}, VOTES),
    ],
    ids=["play-tennis", "labor", "labor-U", "votes"],
)
def test_the_tree_is_the_one_that_weka_prints(table, choices, stated):
    assert printed(grown(table(), **choices), table()) == stated.strip().splitlines()


def test_a_word_that_no_row_has_is_a_branch_where_values_count_as_declared():
    """Weka's tree of unused words has a leaf more; a row with such a word gets what its node
    would say.
    """
    table, tree = labor(), grown(labor(), pruner="none")
    words = grown(labor(), pruner="none", encoder="mixed")
    assert len(tree.child) - len(words.child) == 1
    node = next(
        v
        for v in range(tree.n_nodes)
        if not tree.is_leaf[v] and tree.rules[tree.test[v]].columns == ("vacation",)
    )
    row = table.take(np.array([0]))
    changed = {"wage": np.array([2.0]), "vacation": np.array([3], np.int32)}
    columns = tuple(
        column(c.name, changed.get(c.name, c.values), c.categories) for c in row.columns
    )
    shares = tree.predict_proba(Table("one", columns, row.target))[0]
    assert shares == pytest.approx(tree.weights[node] / tree.mass[node])


def test_laplace_adds_one_to_each_class():
    """-A on play-tennis: Weka prints 0.8 and 0.2 for the first row (three of three), 0.167 and
    0.833 for the third (none of four).
    """
    shares = grown(play_tennis(), {"method.laplace": True}).predict_proba(play_tennis())
    assert shares[[0, 2, 5, 8]] == pytest.approx(
        np.array([[4 / 5, 1 / 5], [1 / 6, 5 / 6], [3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    )


def test_what_saves_no_error_is_collapsed_unless_it_is_said():
    """Weka's numbers of leaves of the unpruned trees, with and without collapsing."""
    assert [
        grown(votes(), {"method.collapse": c}, pruner="none").n_leaves for c in (True, False)
    ] == [10, 16]


@pytest.mark.parametrize("useless", [None, np.full(12, 3.0), np.full(12, np.nan)])
def test_a_column_of_one_value_keeps_those_of_many_values_out_of_the_average(useless):
    """Four values among twelve rows are many: without a column of fewer J48 asks for them,
    beside one no gain is in the average, and it stops.
    """
    word, label = np.repeat(np.arange(4), 3), np.repeat([0, 1], 6).astype(np.int32)
    columns = (
        column("word", word, ("p", "q", "r", "s")),
        *([] if useless is None else [column("useless", useless)]),
    )
    tree = grown(Table("t", columns, Target("class", Task.classification, label, ("a", "b"))))
    assert tree.n_nodes == (5 if useless is None else 1)
