"""The figures of the slides, each drawn from what is computed."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from arboretum import api
from arboretum.api import (
    Axis,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Panels,
    Piece,
    Services,
    Table,
    Tree,
    sure,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import grow, split_rows

PETALS = ("petal_length", "petal_width")
DARK = 13
"""Number of a dark colour, for borders."""
TREES = {
    "depth 1": {"stopping.standard.max_depth": 1},
    "depth 3": {"stopping.standard.max_depth": 3},
    "whole": {},
}
"""Trees whose curves are drawn, and what they are grown with."""
DEPTHS, LEAVES = (1, 2, 3, 4, 6, 8), (1, 2, 5, 10, 20, 40)
"""Classifiers of the Pareto figure: every pair of these."""


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece per figure of :data:`FIGURES`."""
    return [
        Piece({"chapter": "figures", "figure": name}, cost) for name, (cost, _) in FIGURES.items()
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """ "name.txt" → a table, any other name → a picture, as SVG."""
    drawn = FIGURES[key["figure"]][1](services)
    return {
        name: one if isinstance(one, str) else api.charts.chart_svg(one)
        for name, one in drawn.items()
    }


def judge(results: Keyed) -> Judgement:
    """Return the pictures, called ``figure_NAME``, and text tables of all figures; claims
    nothing.
    """
    found = {name: one for _, result in results for name, one in result.items()}
    pictures = {f"figure_{name}": one for name, one in found.items() if "." not in name}
    tables = {name: one for name, one in found.items() if "." in name}
    reported = f"Figures drawn from computed data: {', '.join(pictures)}."
    return Judgement.of_chapter(
        "figures",
        {},
        {"figures": float(len(pictures))},
        tables=tables,
        pictures=pictures,
        notes=[reported],
    )


def impurities(services: Services) -> Facts:
    """Return a chart of misclassification, gini, entropy and half of it for two classes."""
    p = np.linspace(0.0, 1.0, 101)
    both, names = np.stack([p, 1 - p], axis=1), ("misclassification", "gini", "entropy")
    values = {name: services.component("impurity", name).value(both) for name in names}
    lines = [Line(name, p.tolist(), one.tolist(), marked=False) for name, one in values.items()]
    lines.append(
        Line(
            "half the entropy",
            p.tolist(),
            (values["entropy"] / 2).tolist(),
            marked=False,
            colour=2,
            dashed=True,
        )
    )
    return {
        "impurities": LineChart(
            "Impurity of two classes", lines, Axis("share p of one class"), Axis("impurity")
        )
    }


def cart(services: Services) -> Facts:
    """Return iris by its petals, with the borders of the tree's tests, beside diabetes by the body
    mass index; and both trees.
    """
    iris, diabetes = (services.component("dataset", name).load(0) for name in ("iris", "diabetes"))
    iris = Table("iris", tuple(iris.column(name) for name in PETALS), iris.target)
    diabetes = Table("diabetes", (diabetes.column("bmi"),), diabetes.target)
    classes = grow(services, iris, "cart", {"stopping.standard.max_depth": 3})
    numbers = grow(services, diabetes, "cart", {"stopping.standard.max_depth": 2})
    of_class = {name: iris.target.codes == k for k, name in enumerate(iris.target.classes)}
    x, y = (c.values for c in iris.columns)
    clouds = [
        Line(name, x[rows].tolist(), y[rows].tolist(), joined=False)
        for name, rows in of_class.items()
    ]
    box = [(float(c.values.min()) - 0.1, float(c.values.max()) + 0.1) for c in iris.columns]
    cuts = [
        Line("", across, up, colour=DARK, marked=False, quiet=True)
        for across, up in borders(classes, 0, box)
    ]
    x = diabetes.columns[0].values
    bmi, y, steps = (
        values[np.argsort(x)].tolist()
        for values in (x, diabetes.target.values, numbers.predict(diabetes))
    )
    left = LineChart(
        "Classification: iris", [*clouds, *cuts], Axis("petal length, cm"), Axis("petal width, cm")
    )
    lines = [
        Line("patients", bmi, y, joined=False),
        Line("tree", bmi, steps, colour=DARK, marked=False),
    ]
    right = LineChart(
        "Regression: diabetes", lines, Axis("body mass index"), Axis("progression after a year")
    )
    return {
        "cart": Panels(
            "CART divides the plane, and the line", [left, right], 2, "depth 3 and depth 2"
        ),
        "cart_classification_tree": classes.to_svg(title="CART: iris by its petals"),
        "cart_regression_tree": numbers.to_svg(title="CART: diabetes by the body mass index"),
    }


def borders(tree: Tree, node: int, box: list[tuple[float, float]]) -> Iterator[list[list[float]]]:
    """Yield where the thresholds at and below a node cut its part of the plane: [x of both ends, y
    of both ends].

    box : the part: lowest and highest value of each of PETALS, in cm.
    """
    if tree.is_leaf[node]:
        return
    rule = tree.rule(node)
    axis, cut = PETALS.index(rule.columns[0]), float(sure(rule.cuts)[0])
    yield [[cut, cut] if k == axis else list(one) for k, one in enumerate(box)]
    for child, part in zip(
        tree.children(node).tolist(), ((box[axis][0], cut), (cut, box[axis][1])), strict=True
    ):
        yield from borders(tree, child, [part if k == axis else one for k, one in enumerate(box)])


def curves(services: Services) -> Facts:
    """ROC and precision-recall curves of the trees of :data:`TREES`, on test rows of wdbc."""
    train, test = split_rows(services, "wdbc", 0)
    positive, ones = test.target.codes == 1, np.ones(test.n_rows)
    scores = {
        name: grow(services, train, "cart", values).predict_proba(test)[:, 1]
        for name, values in TREES.items()
    }
    found = {name: api.curves.Curve.of(score, positive, ones) for name, score in scores.items()}
    of = f"CART on wdbc, class {test.target.classes[1]}, {test.n_rows} test rows"
    return {
        "roc": api.curves.roc_chart(found, of),
        "precision_recall": api.curves.pr_chart(found, of),
    }


def pareto(services: Services) -> Facts:
    """Return recall and precision of CART on test rows of wdbc, by depth and least leaf.

    Only the classifiers on the Pareto front are named.
    """
    train, test = split_rows(services, "wdbc", 0)
    positive = test.target.codes == 1
    own: dict[tuple[float, float], list[str]] = {}
    for depth, leaf in ((depth, leaf) for depth in DEPTHS for leaf in LEAVES):
        values = {"stopping.standard.max_depth": depth, "stopping.standard.min_leaf": leaf}
        said = grow(services, train, "cart", values).predict(test) == 1
        hits = float((said & positive).sum())
        point = (hits / float(positive.sum()), hits / max(float(said.sum()), 1.0))
        # several trees may be one classifier
        own.setdefault(point, []).append(f"depth {depth}, leaves of {leaf}")
    xy = np.array(list(own))
    front = sorted(api.pareto_front(xy, (True, True)).tolist(), key=lambda k: xy[k, 0])
    names = [
        f"{one[0]}{f' (+{len(one) - 1})' * (len(one) > 1)}" * (k in front)
        for k, one in enumerate(own.values())
    ]
    points = [(name, *point) for name, point in zip(names, own, strict=True)]
    x, y = (Axis(name, higher_is_better=True) for name in ("recall", "precision"))
    reported = (
        f"CART on wdbc, class {test.target.classes[1]}, by depth and least leaf; +n more trees"
    )
    return {
        "pareto": LineChart.of_points("Pareto-efficient classifiers", points, x, y, front, reported)
    }


def oblivious(services: Services) -> Facts:
    """Return an oblivious tree of three levels on wine: a picture, and its decision table as
    text.
    """
    tree = grow(
        services, services.component("dataset", "wine").load(0), "oblivious", {"method.levels": 3}
    )
    table = services.component("export", "decision_table", {"form": "text"}).write(tree)
    return {
        "oblivious_tree": tree.to_svg(title="An oblivious tree: one test per level"),
        "oblivious_tree.txt": table,
    }


def fuzzy(services: Services) -> Facts:
    """Return a fuzzy tree of depth 2 on wdbc, and the share of a row that goes each way, by its
    value.
    """
    table, charts = services.component("dataset", "wdbc").load(0), []
    tree = grow(services, table, "fuzzy", {"stopping.standard.max_depth": 2})
    for rule in (rule for rule in tree.rules if rule.fuzzy):
        values = table.column(rule.columns[0]).values
        x = np.linspace(values.min(), values.max(), 301).tolist()
        shares = zip(*(rule.degrees_of({rule.columns[0]: value}) for value in x), strict=True)
        lines = [
            Line(branch, x, list(y), marked=False)
            for branch, y in zip(("yes", "no"), shares, strict=True)
        ]
        charts.append(
            LineChart(rule.describe(), lines, Axis(rule.columns[0]), Axis("share of the row"))
        )
    shown = Panels("Which way, and how much of the row?", charts, 2, "the fuzzy tests of the tree")
    return {
        "fuzzy_tree": tree.to_svg(title="A fuzzy tree: rows near a threshold go both ways"),
        "fuzzy_shares": shown,
    }


FIGURES: Mapping[str, tuple[float, Callable[[Services], Facts]]] = {
    "impurities": (0.01, impurities),
    "cart": (0.3, cart),
    "curves": (0.3, curves),
    "oblivious": (0.6, oblivious),
    "fuzzy": (0.6, fuzzy),
    "pareto": (1.0, pareto),
}
"""Figure → what it costs, and who draws it."""
