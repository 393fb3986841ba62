"""
A greedy tree against the optimum of maximum path cost
======================================================

A tree may ask each row only tests that a budget pays for. Greedy trees by powers of pairs (Nan,
Wang & Saligrama 2015) come near the least error that a budget allows, which an exact solver proves.
"""

from pathlib import Path

import arboretum
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

SHARED = ["dataset=monk1-full", "cost=random", "split=none", "seed=3"]


def error(method: str, budget: int, *more: str) -> float:
    """Training error of a tree whose costliest path pays at most the budget."""
    limit = ["stopping=[max_cost]", f"stopping.max_cost.limit={budget}"]
    return arboretum.run([*SHARED, f"method={method}", *limit, *more]).metrics["train_error"]


budgets = list(range(2, 31, 4))
exact = ("objective=accuracy", "objective.lam=0")
chart = LineChart(
    "The least error that a budget pays for",
    [
        Line("greedytree_powers", budgets, [error("greedytree_powers", b) for b in budgets]),
        Line("optimum", budgets, [error("max_cost", b, *exact) for b in budgets]),
    ],
    Axis("budget of the costliest path"),
    Axis("training error"),
    subtitle="monk1, tests of prices 1 to 10",
)
Path("budgets.svg").write_text(charts.chart_svg(chart))
