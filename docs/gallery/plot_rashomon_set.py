"""
A Rashomon set
==============

Many trees may be nearly as good as the best one. ``method=rashomon`` counts all of them and says,
for each column, what share of them asks it and how far its importance varies.
"""

from pathlib import Path

import arboretum
from arboretum.api import charts
from arboretum.model.charts import Axis, Line, LineChart

record = arboretum.run(
    [
        "dataset=monk3-full",
        "method=rashomon",
        "objective.lam=0.02",
        "solver.epsilon=0.4",
        "split=none",
    ]
)
details = record.solution.details
print(f"{details['trees']} trees between {details['least']:g} and {details['most']:g}")

columns = details["columns"]
places = range(len(columns))
chart = LineChart(
    "What the good trees live on",
    [
        Line("share that asks it", [c["asked"] for c in columns.values()], places, joined=False),
        Line(
            "least importance",
            [c["importance_from"] for c in columns.values()],
            places,
            joined=False,
        ),
        Line(
            "greatest importance",
            [c["importance_to"] for c in columns.values()],
            places,
            joined=False,
        ),
    ],
    Axis("share of trees, or loss that grows without the column"),
    Axis("column", names=list(columns)),
    subtitle=f"monk3 at λ = 0.02, {details['trees']} trees",
)
Path("rashomon.svg").write_text(charts.chart_svg(chart))
