"""The figures of the slides, each drawn from what is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from arboretum import api
from arboretum.api import Axis, Chapter, House, Judgement, Line, LineChart, Panels, Piece, Point, PointChart, Table, Tree, csv_text
from arboretum_classic.lecture import divided, run

PETALS = ("petal_length", "petal_width")
DARK = 13
"""Number of a dark colour, for borders."""
TREES = {"depth 1": {"stopping.standard.max_depth": 1}, "depth 3": {"stopping.standard.max_depth": 3}, "whole": {}}
"""Trees whose curves are drawn, and what they are grown with."""
SIZES = {"max_depth": (1, 2, 3, 4, 6, 8), "min_leaf": (1, 2, 5, 10, 20, 40)}
"""Classifiers of the Pareto figure: every pair of these."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "figures", "figure": name}, cost) for name, (cost, *_) in FIGURES.items()]


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    return FIGURES[key["figure"]][1](house)


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    drawn = [Judgement(**FIGURES[key["figure"]][2](result)) for key, result in results]
    whole = Judgement.joined(drawn)
    chapter = Chapter("figures", {}, {"figures": float(len(whole.pictures))}, whole.tables, tuple(whole.pictures))
    return Judgement.joined([whole, Judgement(chapters=[chapter], notes=[f"Figures drawn from computed data: {', '.join(sorted(whole.pictures))}."])])


def _some(table: Table, *columns: str) -> Table:
    return Table(table.name, tuple(table.column(name) for name in columns), table.target)


def _impurities(house: House) -> dict[str, Any]:
    p = np.linspace(0.0, 1.0, 101)
    values = {name: house.component("impurity", name).value(np.stack([p, 1 - p], axis=1)) for name in ("misclassification", "gini", "entropy")}
    values["half the entropy"] = values["entropy"] / 2
    return {"p": p.tolist(), "values": {name: one.tolist() for name, one in values.items()}}


def _draw_impurities(found: Mapping[str, Any]) -> dict[str, Any]:
    lines = [Line(name, found["p"], values, marked=False, colour=min(k, 2), dashed=k == 3) for k, (name, values) in enumerate(found["values"].items())]
    return {"pictures": {"figure_impurities": LineChart("Impurity of two classes", lines, Axis("share p of one class"), Axis("impurity"))}}


def _cart(house: House) -> dict[str, Any]:
    """iris by its petals, with the borders of the tree's tests; diabetes by the body mass index."""
    iris = _some(house.component("dataset", "iris").load(0), *PETALS)
    diabetes = _some(house.component("dataset", "diabetes").load(0), "bmi")
    classes, numbers = (run(house, table, "cart", {"stopping.standard.max_depth": depth}).tree for table, depth in ((iris, 3), (diabetes, 2)))
    box = [(float(c.values.min()) - 0.1, float(c.values.max()) + 0.1) for c in iris.columns]
    bmi, (low, high) = diabetes.columns[0].values, (float(f(diabetes.columns[0].values)) for f in (np.min, np.max))
    grid = np.linspace(low, high, 400)
    steps = numbers.predict(Table("grid", (api.Column("bmi", diabetes.columns[0].kind, grid),), api.Target("y", diabetes.task, values=np.zeros(len(grid)))))
    points = {name: [c.values[iris.target.codes == k].tolist() for c in iris.columns] for k, name in enumerate(iris.target.classes)}
    return {
        "points": points, "borders": list(_borders(classes, 0, box)), "regression": [bmi.tolist(), diabetes.target.values.tolist()],
        "steps": [grid.tolist(), steps.tolist()], "trees": {"classification": classes.to_svg(title="CART: iris by its petals"), "regression": numbers.to_svg(title="CART: diabetes by the body mass index")},
    }  # fmt: skip


def _borders(tree: Tree, node: int, box: list[tuple[float, float]]) -> Iterator[list[list[float]]]:
    """Where the thresholds at and below a node cut its part of the plane: [x of both ends, y of both ends]."""
    if tree.is_leaf[node]:
        return
    rule = tree.rule(node)
    axis, cut = PETALS.index(rule.columns[0]), float(rule.threshold)
    ends: list[list[float]] = [list(one) for one in box]
    ends[axis] = [cut, cut]
    yield ends
    for child, (low, high) in zip(tree.children(node).tolist(), ((box[axis][0], cut), (cut, box[axis][1])), strict=True):
        yield from _borders(tree, child, [(low, high) if k == axis else one for k, one in enumerate(box)])


def _draw_cart(found: Mapping[str, Any]) -> dict[str, Any]:
    clouds = [Line(name, *xy, joined=False) for name, xy in found["points"].items()]
    left = LineChart("Classification: iris", [*clouds, *(Line("", *ends, colour=DARK, marked=False, quiet=True) for ends in found["borders"])], Axis("petal length, cm"), Axis("petal width, cm"))
    steps = Line("tree", *found["steps"], colour=DARK, marked=False)
    right = LineChart("Regression: diabetes", [Line("patients", *found["regression"], joined=False), steps], Axis("body mass index"), Axis("progression after a year"))
    trees = {f"figure_cart_{name}_tree": svg for name, svg in found["trees"].items()}
    return {"pictures": {"figure_cart": Panels("CART divides the plane, and the line", [left, right], 2, "depth 3 and depth 2"), **trees}}


def _curves(house: House) -> dict[str, Any]:
    train, test = divided(house, "wdbc", 0)
    scores = {name: run(house, train, "cart", values).tree.predict_proba(test)[:, 1].tolist() for name, values in TREES.items()}
    return {"positive": (test.target.codes == 1).tolist(), "class": test.target.classes[1], "scores": scores}


def _draw_curves(found: Mapping[str, Any]) -> dict[str, Any]:
    positive = np.array(found["positive"])
    curves = {name: api.curves.Curve.of(np.array(score), positive, np.ones(len(positive))) for name, score in found["scores"].items()}
    of = f"CART on wdbc, class {found['class']}, {len(positive)} test rows"
    return {"pictures": {"figure_roc": api.curves.roc_chart(curves, of), "figure_precision_recall": api.curves.pr_chart(curves, of)}}


def _pareto(house: House) -> dict[str, Any]:
    train, test = divided(house, "wdbc", 0)
    found: dict[str, list[float]] = {}
    for depth in SIZES["max_depth"]:
        for leaf in SIZES["min_leaf"]:
            said = run(house, train, "cart", {"stopping.standard.max_depth": depth, "stopping.standard.min_leaf": leaf}).tree.predict(test) == 1
            hit = float((said & (test.target.codes == 1)).sum())
            found[f"depth {depth}, leaves of {leaf}"] = [hit / float((test.target.codes == 1).sum()), hit / max(float(said.sum()), 1.0)]
    return {"points": found, "class": test.target.classes[1]}


def _draw_pareto(found: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[tuple[float, ...], list[str]] = {}
    for name, point in found["points"].items():  # several trees may be one classifier
        own.setdefault(tuple(point), []).append(name)
    xy = np.array(list(own))
    front = sorted(api.pareto_front(xy, (True, True)).tolist(), key=lambda k: xy[k, 0])
    called = [f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}" * (k in front) for k, names in enumerate(own.values())]
    points = [Point(called[k], float(x), float(y), colour=0 if k in front else 1) for k, (x, y) in enumerate(xy)]
    x, y = (Axis(name, higher_is_better=True) for name in ("recall", "precision"))
    rows = [["tree", "recall", "precision", "efficient"], *([name, *(f"{v:.5f}" for v in xy[k]), k in front] for k, names in enumerate(own.values()) for name in names)]
    title = "Pareto-efficient classifiers"
    chart = PointChart(title, points, x, y, front, f"CART on wdbc, class {found['class']}, by depth and least leaf")
    return {"pictures": {"figure_pareto": chart}, "tables": {"pareto.csv": csv_text(rows)}}


def _oblivious(house: House) -> dict[str, Any]:
    tree = run(house, house.component("dataset", "wine").load(0), "oblivious", {"method.levels": 3}).tree
    table = {form: house.component("export", "decision_table", {"form": form}).write(tree) for form in ("csv", "text")}
    return {"svg": tree.to_svg(title="An oblivious tree: one test per level"), **table}


def _draw_oblivious(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"pictures": {"figure_oblivious_tree": found["svg"]}, "tables": {"oblivious_tree.csv": found["csv"], "oblivious_tree.txt": found["text"]}}


def _fuzzy(house: House) -> dict[str, Any]:
    table = house.component("dataset", "wdbc").load(0)
    tree = run(house, table, "fuzzy", {"stopping.standard.max_depth": 2}).tree
    shares = []
    for rule in (rule for rule in tree.rules if rule.fuzzy):
        x = np.linspace(*(f(table.column(rule.columns[0]).values) for f in (np.min, np.max)), 301)
        shares.append([rule.describe(), rule.columns[0], x.tolist(), [list(rule.degrees_of({rule.columns[0]: value})) for value in x.tolist()]])
    return {"svg": tree.to_svg(title="A fuzzy tree: rows near a threshold go both ways"), "shares": shares}


def _draw_fuzzy(found: Mapping[str, Any]) -> dict[str, Any]:
    charts = [
        LineChart(name, [Line(branch, x, [one[k] for one in y], marked=False) for k, branch in enumerate(("first branch", "second branch"))], Axis(column), Axis("share of the row"))
        for name, column, x, y in found["shares"]
    ]  # fmt: skip
    return {"pictures": {"figure_fuzzy_tree": found["svg"], "figure_fuzzy_shares": Panels("Which way, and how much of the row?", charts, min(3, len(charts)), "the fuzzy tests of the tree")}}


FIGURES: Mapping[str, tuple[float, Callable[[House], dict[str, Any]], Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "impurities": (0.01, _impurities, _draw_impurities),
    "cart": (0.3, _cart, _draw_cart),
    "curves": (0.3, _curves, _draw_curves),
    "oblivious": (0.6, _oblivious, _draw_oblivious),
    "fuzzy": (0.6, _fuzzy, _draw_fuzzy),
    "pareto": (1.0, _pareto, _draw_pareto),
}
"""Figure → what it costs, its data (JSON), its picture."""
