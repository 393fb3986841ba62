"""
A fuzzy split
=============

Near a fuzzy threshold a row goes down both branches, in shares. A crisp tree jumps there, a fuzzy
one rises.
"""

from pathlib import Path

import numpy as np

from arboretum import TreeRegressor
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))
y = 1 / (1 + np.exp(5 - x)) + rng.normal(0, 0.05, 120)

grid = np.linspace(0, 10, 201)
lines = [Line("rows", x, y, joined=False)]
for name, fields in {"crisp": {"method__width": 0.0}, "fuzzy": {}}.items():
    tree = TreeRegressor("fuzzy", max_depth=2, **fields).fit(x[:, None], y)
    lines.append(Line(f"{name}, depth 2", grid, tree.predict(grid[:, None]), marked=False))

chart = LineChart("The same tree, crisp and fuzzy", lines, Axis("x"), Axis("y"))
Path("fuzzy.svg").write_text(charts.chart_svg(chart))
