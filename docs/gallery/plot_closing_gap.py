"""
A gap that closes over time
===========================

An exact solver finds better trees and proves higher bounds while it works. ``solution.curve`` holds
both with the seconds at which they improved. The search ends where they meet.
"""

import math
from pathlib import Path

import arboretum
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

record = arboretum.run(["dataset=tic-tac-toe", "method=gosdt", "objective.lam=0.005", "split=none"])
seconds, bound, value = zip(*record.solution.curve, strict=True)
value = [math.nan if math.isinf(one) else one for one in value]

chart = LineChart(
    "The best tree and the bound, tic-tac-toe at λ = 0.005",
    [Line("best tree found", seconds, value), Line("proven lower bound", seconds, bound)],
    Axis("seconds"),
    Axis("training error + λ · leaves"),
)
Path("gap.svg").write_text(charts.chart_svg(chart))
