"""What a reader reads: the numbers of every text form, taken back as numbers, send each training
row where the tree does.
"""

from __future__ import annotations

import re

import attrs
import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from arboretum import TreeClassifier, exported
from arboretum.api import Column, ColumnKind, Table, Target, Task, Threshold, Tree, legible
from arboretum.engine.run import fit
from arboretum.engine.why import reasons
from arboretum.model.digits import as_shown
from arboretum.plugin.assemble import assembled
from arboretum.testing.effort import examples
from arboretum_classic.fuzzy.rule import FuzzyThreshold
from arboretum_classic.predicates.rules import Ball, MOfN, Oblique

NUMBER = r"(-?[0-9.]+(?:e[+-]?[0-9]+)?)"
LATITUDES = [52.3700001, 52.3700002, 52.3700003, 52.3700004]
CROWDED = [
    LATITUDES,
    [1.7e9 + k for k in range(6)],
    [1e8 + k / 4 for k in range(6)],
    [k * 1e-40 for k in range(1, 6)],
    [1.0, np.nextafter(1.0, 2.0), 1.5],
    [-LATITUDES[0], -LATITUDES[1], 0.0],
    [0.1 + 0.2, 0.3, 0.7],
    [123456.0, 123456.5, 1e30, -1e30],
]


@st.composite
def crowded(draw):
    """Matrix and classes: two columns of values whose neighbours are hardly apart, float32 or
    float64.
    """
    dtype, n = draw(st.sampled_from([np.float64, np.float32])), draw(st.integers(4, 14))
    columns = []
    for _ in range(2):
        near = np.array(draw(st.sampled_from(CROWDED)))
        steps = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        values = near[draw(st.lists(st.integers(0, len(near) - 1), min_size=n, max_size=n))].astype(
            dtype
        )
        for _ in range(3):
            values = np.where(np.array(steps) > 0, np.nextafter(values, dtype(np.inf)), values)
        columns.append(values)
    y = draw(
        st.lists(st.sampled_from("ny"), min_size=n, max_size=n).filter(
            lambda found: len(set(found)) == 2
        )
    )
    return np.column_stack(columns), y


def holds(condition: str, row: np.ndarray) -> bool:
    """Whether a row meets "x0 ≤ 3", "x0 > 3" or "1 < x0 ≤ 3"."""
    if between := re.fullmatch(rf"{NUMBER} < x(\d) ≤ {NUMBER}", condition):
        return float(between[1]) < row[int(between[2])] <= float(between[3])
    column, sign, number = re.fullmatch(rf"x(\d) ([≤>]) {NUMBER}", condition).groups()
    return (row[int(column)] <= float(number)) == (sign == "≤")


def said_by_text(text: str, row: np.ndarray) -> str:
    """The answer of ``to_text``."""
    path: list[bool] = []
    for line in text.splitlines()[1:]:
        inside = re.match(r"^((?:│  |   |├─ |└─ )*)(.*)$", line)
        level = len(inside[1]) // 3
        if level == 0:
            continue
        condition = re.match(rf"x\d [≤>] {NUMBER}", inside[2])[0]
        path[level - 1 :] = [holds(condition, row)]
        if all(path) and len(path) == level and (answer := re.search(r"▸ (\w)", line)):
            return answer[1]
    raise AssertionError(text)


def said_by_rules(text: str, row: np.ndarray) -> set[str]:
    """All classes whose rules a row meets."""
    found, name = set(), ""
    for line in text.splitlines():
        if head := re.fullmatch(r"(\w) if", line):
            name = head[1]
        elif line.endswith(" never"):
            continue
        elif (said := re.sub(r"^  (or|  ) ", "", line)) == "always" or all(
            holds(one, row) for one in said.split(" and ")
        ):
            found.add(name)
    return found


def said_by_dot(text: str, row: np.ndarray) -> str:
    """The answer of the graph, from its nodes' first lines and its edges."""
    label = dict(re.findall(r"^  (n\d+) \[label=\"(.*?)(?:\\n|\")", text, re.MULTILINE))
    below: dict[str, list[tuple[str, str]]] = {}
    for above, child, mark in re.findall(
        r"^  (n\d+) -> (n\d+) \[label=\"(.*?)\"", text, re.MULTILINE
    ):
        below.setdefault(above, []).append((child, mark))
    at = "n0"
    while at in below:
        subject = label[at].split()[0]
        (at,) = [child for child, mark in below[at] if holds(f"{subject} {mark}", row)]
    return label[at]


@examples(60)
@example(rows=(np.array([LATITUDES, LATITUDES]).T, list("nyyn")))
@given(rows=crowded())
def test_every_text_form_read_back_selects_exactly_the_training_rows(rows):
    X, y = rows
    tree = TreeClassifier(random_state=0).fit(X, y).tree_
    answers = [tree.classes[k] for k in tree.predict(table_of(X, y))]
    if tree.n_nodes == 1:
        return
    text, rules, dot, svg = (
        tree.to_text(width=400),
        exported(tree, "rules"),
        tree.to_graphviz(),
        tree.to_svg(),
    )
    page = exported(tree, "questionnaire")
    for row, answer in zip(X.astype(np.float64), answers, strict=True):
        assert said_by_text(text, row) == said_by_dot(dot, row) == answer
        assert said_by_rules(rules, row) == {answer}
    for rule in tree.rules:
        assert (
            f">{rule.describe()}<" in svg and rule.outcome_label(0).replace("≤", "\\u2264") in page
        )
    described = [rule.describe() for rule in tree.rules]
    assert len(set(described)) == len(described)
    assert Tree.from_json(tree.to_json()).to_text() == tree.to_text()


def table_of(X: np.ndarray, y: list[str]) -> Table:
    columns = [Column(f"x{j}", ColumnKind.continuous, X[:, j].copy()) for j in range(X.shape[1])]
    classes, codes = np.unique(y, return_inverse=True)
    return Table(
        "X",
        tuple(columns),
        Target(
            "y", Task.classification, codes=codes.astype(np.int32), classes=tuple(classes.tolist())
        ),
    )


@pytest.mark.parametrize(
    "rule",
    [
        Oblique(("x0", "x1"), (1.0, -0.3333333333333333), 35.0),
        Ball(("x0", "x1"), (52.37000015, 52.3700002), (1e-7, 1e-7), 1.2),
        MOfN(("x0", "x1"), (52.37000015, 52.37000025), (52.37000035, None), 1),
        FuzzyThreshold("x0", 52.37000015, 1e-8),
    ],
    ids=lambda rule: rule.tag,
)
def test_tests_of_several_columns_and_of_degrees_are_written_as_long_as_they_must_be(rule):
    X = np.array([LATITUDES, LATITUDES[::-1]]).T
    rule = (
        attrs.evolve(rule, threshold=float(X[1] @ rule.coefficients))
        if isinstance(rule, Oblique)
        else rule
    )
    table, rows = table_of(X, list("nyyn")), np.arange(4)
    (found,) = legible([rule], table)
    assert found == rule and found.digits > 6

    def shown(value):
        return (
            tuple(map(shown, value))
            if isinstance(value, tuple)
            else as_shown(value, "", found.digits)
            if isinstance(value, float)
            else value
        )

    read = attrs.evolve(
        found,
        **{field.name: shown(getattr(found, field.name)) for field in attrs.fields(type(found))},
    )
    side = (
        (lambda one: one.degrees(table, rows) > 0.5)
        if rule.fuzzy
        else (lambda one: one.outcomes(table, rows))
    )
    np.testing.assert_array_equal(side(read), side(rule))
    assert found.describe() == attrs.evolve(read, digits=17).describe() or found.digits == 17


def test_a_tree_without_its_rows_never_prints_two_thresholds_alike():
    first, second = legible([Threshold("x", 1.23456789), Threshold("x", 1.2345678)])
    assert (first.describe(), second.describe()) == ("x ≤ 1.2345679", "x ≤ 1.2345678")


def test_why_and_the_notes_of_a_growth_write_them_so():
    table = table_of(np.array([LATITUDES, LATITUDES]).T, list("nyyn"))
    grown = fit(attrs.evolve(assembled({"method": "cart"}), split=None), table)
    candidates = reasons(grown.problem, grown.solution.tree, 0, 0).candidates
    for one in candidates:
        sent = [holds(one.rule.describe(), np.array([value, value])) for value in LATITUDES]
        assert [0 if held else 1 for held in sent] == one.rule.outcomes(
            table, np.arange(4)
        ).tolist()
    assert len({one.rule.describe() for one in candidates}) == len(candidates) == 6
    levels = fit(attrs.evolve(assembled({"method": "oblivious"}), split=None), table).solution
    assert all(any(rule.describe() in note for note in levels.notes) for rule in levels.tree.rules)


def test_a_page_of_good_trees_writes_them_so(tmp_path):
    table, page = table_of(np.array([LATITUDES, LATITUDES]).T, list("nyyn")), tmp_path / "page.html"
    asked = {
        "method": "rashomon",
        "objective.lam": 0.01,
        "solver.epsilon": 0.5,
        "solver.page": str(page),
    }
    fit(attrs.evolve(assembled(asked), split=None), table)
    found = set(re.findall(r"x\d [≤>] [0-9.]+", page.read_text(encoding="utf-8")))
    ranks = {
        sum(holds(f"x0 ≤ {one.split()[-1]}", np.array([value])) for value in LATITUDES)
        for one in found
    }
    assert found and ranks <= {1, 2, 3}
