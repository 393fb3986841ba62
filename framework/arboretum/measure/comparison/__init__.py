"""Which of the methods is best, and is that more than chance?  From runs to scores, tests of them,
and charts ready to be drawn.
"""

from arboretum.measure.comparison.collect import scores_of
from arboretum.measure.comparison.correlated import (
    CorrectedT,
    Posterior,
    bayesian_t,
    corrected_t,
)
from arboretum.measure.comparison.growth import PowerLaw, growth_chart, power_law
from arboretum.measure.comparison.pictures import (
    bar_chart,
    pareto_chart,
    rank_diagram,
    sweep_chart,
    time_chart,
)
from arboretum.measure.comparison.ranking import (
    CHI_SQUARE_NEEDS,
    RankTests,
    compare,
    group_letters,
    rank_rows,
    verdict_lines,
)
from arboretum.measure.comparison.signed_rank import bayesian_signed_rank
from arboretum.measure.comparison.significance import (
    ALPHA,
    average_ranks,
    bonferroni_dunn,
    friedman,
    gap_notes,
    holm,
    nemenyi,
    ranks,
    signed_rank_p,
    wilcoxon_holm,
)
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Repeats, Scores
