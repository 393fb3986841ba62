"""
Calibration
===========

A tree predicts a probability: the share of a class in a leaf. Is it true of new rows? ``curves``
judges that, and every threshold besides.
"""

from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from arboretum import TreeClassifier
from arboretum.api import charts, curves
from arboretum.model.charts import Panels

X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=1)
tree = TreeClassifier("cart", max_depth=4, min_samples_leaf=5).fit(X, y)
share = tree.predict_proba(X_test)[:, 1]
weight = share * 0 + 1
panels = Panels(
    "A tree of depth 4 on new rows",
    [
        curves.roc_chart({"benign": curves.Curve.of(share, y_test == 1, weight)}, "breast cancer"),
        curves.calibration_chart(
            {"benign": curves.Calibration.of(share, y_test == 1, weight)}, "breast cancer"
        ),
    ],
)
Path("calibration.svg").write_text(charts.chart_svg(panels))
