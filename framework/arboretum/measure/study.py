"""Everything to compare methods over data sets, in one place: ``from arboretum.measure import study``.

Plugins have it as ``arboretum.api.study``.
"""

from __future__ import annotations

from arboretum.measure.compare import Comparison, compare, group_letters, rank_rows, scores_of, verdict_lines
from arboretum.measure.figures import bar_chart, growth_chart, pareto_chart, rank_diagram, sweep_chart, time_chart
from arboretum.measure.pareto import PowerLaw, pareto_front, power_law
from arboretum.measure.significance import (
    average_ranks,
    bonferroni_dunn,
    critical_difference,
    friedman,
    holm,
    nemenyi,
    q_bonferroni_dunn,
    q_nemenyi,
    ranks,
    wilcoxon_holm,
)
from arboretum.model.scores import Scores

__all__ = sorted(name for name in globals() if name[0] != "_" and name != "annotations")  # noqa: PLE0605
