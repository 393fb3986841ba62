"""
A Pareto front of error and price
=================================

``method=front`` finds for every expected price the least training error, with a tree for each
point. The front is proven: no tree lies below it.
"""

from pathlib import Path

import arboretum
from arboretum.api import charts
from arboretum.report.front import front_chart

record = arboretum.run(["dataset=monk1-full", "method=front", "split=none"])
front = record.solution.front
for point in front.points[::3]:
    error, price = point.values
    print(f"at most {price:.3g} tests per row: {point.tree.n_leaves} leaves, error {error:.3f}")

Path("front.svg").write_text(charts.chart_svg(front_chart(front, "monk1: every tree lies above")))
