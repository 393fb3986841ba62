"""
Missing values
==============

What becomes of a row without the value that a test asks for is a choice: ``missing=NAME``. Here a
growing share of the training cells is emptied.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from arboretum import TreeClassifier
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

X, X_test, y, y_test = train_test_split(*load_wine(return_X_y=True), random_state=0, test_size=0.5)
shares = [0.0, 0.1, 0.2, 0.3, 0.4]


def error(rule: str, share: float) -> float:
    """Mean test error over twenty ways to empty that share of the cells."""
    found = []
    for seed in range(20):
        gone = np.random.default_rng(seed).random(X.shape) < share
        tree = TreeClassifier("cart", missing=rule, max_depth=4).fit(np.where(gone, np.nan, X), y)
        found.append(1 - tree.score(X_test, y_test))
    return float(np.mean(found))


chart = LineChart(
    "Test error as cells go missing",
    [
        Line(rule, shares, [error(rule, share) for share in shares])
        for rule in ("better_side", "majority", "fractional", "surrogates")
    ],
    Axis("share of training cells without a value"),
    Axis("test error"),
    subtitle="wine, CART of depth 4, mean of twenty",
)
Path("missing.svg").write_text(charts.chart_svg(chart))
