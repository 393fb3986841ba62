"""
The best trees for every λ
==========================

λ is the price of a leaf. ``method=path`` finds the best tree for every λ at once: the smaller λ,
the more leaves pay. Between the trees no λ makes another one best.
"""

from pathlib import Path

import arboretum
from arboretum.api import charts
from arboretum.report.front import front_chart

record = arboretum.run(["dataset=balance-scale", "method=path", "objective.lam=0.01", "split=none"])
details = record.solution.details
for lam, leaves, loss in zip(details["lambdas"], details["leaves"], details["losses"], strict=True):
    print(f"from λ = {lam:.4f}: {leaves} leaves, training error {loss:.4f}")

chart = front_chart(record.solution.front, "balance-scale: error against leaves")
Path("path.svg").write_text(charts.chart_svg(chart))
