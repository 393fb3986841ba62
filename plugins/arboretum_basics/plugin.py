"""Registration; light: no numba."""

from arboretum.api import hookimpl
from arboretum_basics.comparisons import (
    BayesianSignedRank,
    BayesianT,
    BonferroniDunn,
    CorrectedT,
    FriedmanTest,
    Nemenyi,
    WilcoxonHolm,
)
from arboretum_basics.costs import (
    ByOutcome,
    Discount,
    PerColumn,
    RandomIntegers,
    SetUp,
    TablePrices,
    Unit,
)
from arboretum_basics.exports import Graphviz, Json, Onnx, Png, Rules, Sklearn, Sql, Svg, Text
from arboretum_basics.measures import CertifiedRatio, TotalCost
from arboretum_basics.methods import BetterSide, Exact, Greedy
from arboretum_basics.questionnaire import Questionnaire
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Pure, Standard
from arboretum_basics.tree_page import TreePage
from arboretum_basics.tuning import Grid


@hookimpl
def arboretum_components() -> list[type]:
    """Stopping rules, costs, what becomes of missing values, the recipes ``greedy`` and
    ``exact``, a tuner, the forms in which a tree leaves, tests of methods and what they are
    compared by.
    """
    costs = [Unit, TablePrices, RandomIntegers, PerColumn, SetUp, Discount, ByOutcome]
    exports = [Text, Svg, Png, Graphviz, Sql, Rules, Json, Sklearn, Onnx]
    exports += [Questionnaire, TreePage]
    tests = [FriedmanTest, Nemenyi, WilcoxonHolm, BonferroniDunn]
    blocks = [CorrectedT, BayesianT, BayesianSignedRank, CertifiedRatio, TotalCost]
    stops = [Standard, Pure, MassAtMost, ImpurityAtMost]
    return [*stops, *costs, BetterSide, Greedy, Exact, Grid, *exports, *tests, *blocks]
