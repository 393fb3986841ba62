"""
A critical-difference diagram
=============================

Methods are ranked on each data set. Their average ranks are compared by Nemenyi's test: a bar joins
those that are not found different (Demšar 2006).
"""

from pathlib import Path

import arboretum
from arboretum.api import charts, comparison

DATASETS = ("iris", "wine", "wdbc", "balance-scale", "monk1-full", "monk2-full", "monk3-full")
records = [
    arboretum.run([f"dataset={dataset}", f"method={method}", "seed=1"])
    for dataset in DATASETS
    for method in ("cart", "id3", "random")
]
errors = comparison.scores_of(records, "test_error", measure="test error")
found = comparison.compare(errors)
for line in comparison.verdict_lines(found):
    print(line)

diagram = comparison.rank_diagram(found.nemenyi, "Average ranks by test error")
Path("ranks.svg").write_text(charts.chart_svg(diagram))
