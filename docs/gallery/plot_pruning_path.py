"""
Cost-complexity pruning
=======================

A fully grown tree is cut back at its weakest links. Each α leaves one of the nested trees;
validation rows, or folds, say which (Breiman et al. 1984, section 3.3).
"""

import csv
import io
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import arboretum
from arboretum import TreeClassifier
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
grown = TreeClassifier("cart").fit(X, y)
path = csv.DictReader(
    io.StringIO(arboretum.exported(grown.tree_, "complexity_path", risk="impurity"))
)
alphas = [float(row["alpha"]) for row in path]

trees = [TreeClassifier("cart", ccp_alpha=alpha).fit(X, y) for alpha in alphas]
leaves = [tree.get_n_leaves() for tree in trees]
chart = LineChart(
    "Every pruned tree of one grown tree",
    [
        Line("training rows", leaves, [1 - tree.score(X, y) for tree in trees]),
        Line("test rows", leaves, [1 - tree.score(X_test, y_test) for tree in trees]),
    ],
    Axis("leaves"),
    Axis("error"),
    subtitle="breast cancer, cost-complexity pruning",
)
Path("pruning.svg").write_text(charts.chart_svg(chart))
