"""What the curves of Figure 4 say of the paper's sentences.

The paper gives no numbers here, so its words are given some, which were fixed before any curve was
looked at: FEW, MINIMAL and what is small and large.
"""

from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    Chapter,
    Claim,
    Facts,
    Judgement,
    Keyed,
    Line,
    LineChart,
    Panels,
    Plain,
    csv_text,
)
from arboretum_maxcost.paper.figure4 import (
    FUNCTIONS,
    HINGED,
    LEAST,
    POWERS,
    TOP,
    pieces as pieces,
    work as work,
)
from arboretum_maxcost.paper.study import published

FEW = 0.5
"""Few tests: at most this share of the least that a tree of any of the five functions needs to
make no error.
"""
MINIMAL = 0.05
"""Minimal error: at most this share of the objects."""
SMALL = 0.5
"""A budget is small up to this share of the longest path of any of the five trees without error,
and large beyond.
"""
EASY = ("house-votes", "dna", "wdbc", "mammography")
"""The data sets that the paper names."""
WITHOUT_ROOT = ("house-votes", "wdbc")
"""Whose tree of depth 0 the paper leaves out."""
PORTFOLIO = "portfolio"
LEAST_COLOUR = 9


@attrs.frozen(eq=False)
class DataSet:
    """Curves on one data set.

    points : function → float64[k, 2], max cost and share of objects in error, ascending in cost.
    top : function → as :func:`arboretum_maxcost.paper.figure4.evenness_of_top` has it.
    least : the same of the least possible errors; NaN where they are not proven.
    """

    name: str
    objects: int
    points: Mapping[str, np.ndarray]
    top: Mapping[str, Sequence[float]]
    least: np.ndarray

    @property
    def called(self) -> str:
        """The name of the data set in the paper."""
        return str(published()["datasets"][self.name]["called"])

    @property
    def longest_path(self) -> int:
        """Tests on the costliest path of the worst of the trees without error."""
        return int(max(points[-1, 0] for points in self.points.values()))

    @property
    def shortest_path(self) -> int:
        """Tests on the costliest path of the best of the trees without error; trees that never get
        there do not count.
        """
        return int(
            min(
                points[-1, 0]
                for points in self.points.values()
                if points[-1, 1] == min(p[-1, 1] for p in self.points.values())
            )
        )

    def lowest_errors(self, function: str) -> np.ndarray:
        """Return float64[longest_path + 1]: the lowest error of a function within each budget; of
        the portfolio the lowest of all functions.
        """
        if function == PORTFOLIO:
            found: np.ndarray = np.min([self.lowest_errors(one) for one in self.points], axis=0)
            return found
        points = self.least if function == LEAST else self.points[function]
        found = points[
            np.searchsorted(points[:, 0], np.arange(self.longest_path + 1), side="right") - 1, 1
        ]
        return found


def judge(results: Keyed) -> Judgement:
    """Return the curves, the portfolio, sentences with their verdicts; only of data sets with all
    five functions.
    """
    found: dict[str, Facts] = {}
    for key, result in results:
        found.setdefault(key["dataset"], {})[key["function"]] = result
    found = {name: found[name] for name in published()["datasets"] if name in found}
    sets = [
        DataSet(
            name,
            own[HINGED]["objects"],
            {f: _shares(own[f]) for f in FUNCTIONS},
            {f: own[f]["top"] for f in FUNCTIONS},
            _shares(own[LEAST]) if LEAST in own else np.array([[0.0, np.nan]]),
        )
        for name, own in found.items()
        if all(f in own for f in FUNCTIONS)
    ]
    if not sets:
        return Judgement()
    claims = [
        *(_claim_few_tests(one) for one in sets if one.name in EASY),
        *_claim_small_and_large_budgets(sets),
        _claim_portfolio(sets),
        *_claim_even_or_right(sets),
    ]
    chapters = [_chapter_of_data_set(one, found[one.name]) for one in sets]
    trees = sum(result["trees"] for _, result in results)
    notes = [
        f"Figure 4: {trees:,} settings of δ and α on {len(sets)} data sets; every point of a "
        "curve is a tree that was replayed over its objects."
    ]
    if proven := [one for one in sets if not np.isnan(one.least).any()]:
        lowest, least = (
            float(np.mean([one.lowest_errors(f)[1:].mean() for one in proven]))
            for f in (PORTFOLIO, LEAST)
        )
        notes.append(
            f"Least possible errors are proven on {len(proven)} of them: {least:.2%}, mean "
            f"over budgets and data sets, where the lowest greedy ones are {lowest:.2%}."
        )
    tables = _tables(found, sets)
    return Judgement((), claims, tables, {"figure4": _draw_panels(sets)}, chapters, notes)


def _tables(found: Mapping[str, Plain], sets: Sequence[DataSet]) -> dict[str, str]:
    """Return the curves, the portfolio and how tops divide, as CSV by file name.

    found : data set → function → result.
    """
    points = [
        [name, f, *("" if x is None else f"{x:.10g}" for x in point)]
        for name, own in found.items()
        for f in own
        for point in own[f]["points"]
    ]
    tops = [[one.name, f, *(f"{x:.6f}" for x in one.top[f])] for one in sets for f in FUNCTIONS]
    of_points = "dataset function max_cost errors setting leaves expected_cost"
    of_tops = "dataset function evenness_two_levels error_two_levels evenness_root error_root"
    return {
        "figure4.csv": csv_text([of_points.split(), *points]),
        "portfolio.csv": _portfolio_table(sets),
        "top.csv": csv_text([of_tops.split(), *tops]),
    }


def _shares(result: Plain) -> np.ndarray:
    """Return float64[points, 2]: max cost and share of the objects in error of a curve."""
    return np.array([[cost, errors / result["objects"]] for cost, errors, *_ in result["points"]])


def _chapter_of_data_set(one: DataSet, own: Plain) -> Chapter:
    """Return the chapter of a data set: lowest errors within small budgets, and how many trees.
    own : function → result.
    """
    within = {
        f"error_within_{b}/{f}": float(one.lowest_errors(f)[b])
        for f in (*FUNCTIONS, PORTFOLIO, LEAST)
        for b in range(1, min(one.longest_path, 6) + 1)
    }
    within = {name: error for name, error in within.items() if not np.isnan(error)}
    metrics = {**within, **{f"trees/{f}": float(own[f]["trees"]) for f in FUNCTIONS}}
    return Chapter(
        f"Figure 4, {one.called}", {"dataset": one.name, "objects": one.objects}, metrics
    )


def _claim_few_tests(one: DataSet) -> Claim:
    """Return the claim of trend 1 on a data set: few tests leave a minimal error."""
    budget = int(FEW * one.shortest_path)
    error = float(one.lowest_errors(PORTFOLIO)[budget])
    sentence = (
        f"Trend 1: {one.called} is classified with minimal error (at most {MINIMAL:.0%}) by few "
        f"tests (at most {FEW:.0%} of what no error takes)"
    )
    evidence = (
        f"{error:.1%} within {budget} of {one.shortest_path} tests; one test "
        f"{one.lowest_errors(PORTFOLIO)[1]:.1%}, none {one.lowest_errors(PORTFOLIO)[0]:.1%}"
    )
    least = float(one.lowest_errors(LEAST)[budget])
    evidence += "" if np.isnan(least) else f"; the least possible within {budget} is {least:.1%}"
    return Claim.judged(sentence, error <= MINIMAL, evidence)


def _claim_small_and_large_budgets(sets: Sequence[DataSet]) -> list[Claim]:
    """Return the claims of trend 2: on how many data sets hinged Pairs has the lower error at more
    (budget, l) than any Powers(l) has, and the other way round.
    """
    small = f"budgets up to {SMALL:.0%} of the longest path"
    parts: dict[str, tuple[int, Callable[[DataSet], range]]] = {
        f"hinged Pairs outperforms Powers for smaller max costs ({small})": (
            1,
            lambda one: range(1, int(SMALL * one.longest_path) + 1),
        ),
        "Powers outperforms hinged Pairs for larger max costs (above)": (
            -1,
            lambda one: range(int(SMALL * one.longest_path) + 1, one.longest_path),
        ),
    }
    claims = []
    for sentence, (sign, budgets) in parts.items():
        balance = {one.called: sign * _balance_of_functions(one, budgets(one)) for one in sets}
        better, worse = (sum(sign * value > 0 for value in balance.values()) for sign in (1, -1))
        words = ", ".join(f"{name} {value:+d}" for name, value in balance.items())
        holds = None if len(sets) < len(published()["datasets"]) else better > worse
        evidence = (
            f"better on {better} data sets, worse on {worse}; budgets won less those lost, over "
            f"l = 2 to 5: {words}"
        )
        claims.append(Claim.judged(f"Trend 2: {sentence}", holds, evidence))
    return claims


def _balance_of_functions(one: DataSet, budgets: range) -> int:
    """Return the number of pairs of budget and Powers(l) at which hinged Pairs has the lower error,
    less that of those at which it has the higher one.
    """
    hinged, at = one.lowest_errors(HINGED), list(budgets)
    return int(sum(np.sign(one.lowest_errors(f)[at] - hinged[at]).sum() for f in POWERS))


def _claim_portfolio(sets: Sequence[DataSet]) -> Claim:
    """Return the claim on the portfolio: the lowest error of all functions within every budget, by
    its mean over the budgets from one test to the longest path.
    """
    means = {
        f: [float(one.lowest_errors(f)[1:].mean()) for one in sets] for f in (*FUNCTIONS, PORTFOLIO)
    }
    alone = np.min([means[f] for f in FUNCTIONS], axis=0)
    better = [
        one.called
        for one, best, all_ in zip(sets, alone, means[PORTFOLIO], strict=True)
        if all_ < best
    ]
    holds = None if len(sets) < len(published()["datasets"]) else 2 * len(better) > len(sets)
    overall = ", ".join(f"{f} {np.mean(values):.2%}" for f, values in means.items())
    return Claim.judged(
        "Choosing the tree of lowest error over several functions per budget beats any "
        "single one (on most data sets, by the mean error over budgets)",
        holds,
        f"better than the best single one on {len(better)} of {len(sets)} "
        f"({', '.join(better)}); mean over budgets and data sets: {overall}",
    )


def _claim_even_or_right(sets: Sequence[DataSet]) -> list[Claim]:
    """Return the claims that Powers and Pairs divide evenly, and that hinged Pairs puts more weight
    on classification: by the first levels of tests, two numbers of each, and by the root, two
    more.
    """
    over: list[tuple[str, int, Callable[[float, float], bool]]] = [
        (
            "Powers and Pairs divide more evenly than hinged Pairs",
            0,
            lambda powers, hinged: powers > hinged,
        ),
        (
            "hinged Pairs puts more weight on classification: fewer errors than Powers and Pairs",
            1,
            lambda powers, hinged: powers > hinged,
        ),
    ]
    claims = []
    for sentence, place, ahead in over:
        pairs, root = (
            {
                one.called: (float(np.mean([one.top[f][at] for f in POWERS])), one.top[HINGED][at])
                for one in sets
            }
            for at in (place, place + 2)
        )
        (yes, no), (first_yes, first_no) = (
            [sum(ahead(*pair[::way]) for pair in found.values()) for way in (1, -1)]
            for found in (pairs, root)
        )
        words = ", ".join(
            f"{name} {powers:.3f} and {hinged:.3f}" for name, (powers, hinged) in pairs.items()
        )
        holds = None if len(sets) < len(published()["datasets"]) else yes > no
        what = "evenness" if place == 0 else "share of objects in error"
        evidence = (
            f"yes on {yes} data sets, no on {no} (by the first test alone on {first_yes} and "
            f"{first_no}); {what}, "
        )
        evidence += f"mean of Powers(2) to (5) and median over α > 0: {words}"
        claims.append(Claim.judged(f"{sentence} (first {TOP} levels of tests)", holds, evidence))
    return claims


def _portfolio_table(sets: Sequence[DataSet]) -> str:
    """Return a CSV of the lowest errors within every budget, the functions that have them, and the
    least possible.
    """
    rows = []
    for one in sets:
        lowest = one.lowest_errors(PORTFOLIO)
        for budget, error in enumerate(lowest.tolist()):
            best = [f for f in FUNCTIONS if one.lowest_errors(f)[budget] == error]
            least = float(one.lowest_errors(LEAST)[budget])
            rows.append(
                [
                    one.name,
                    budget,
                    f"{error:.6f}",
                    ";".join(best),
                    "" if np.isnan(least) else f"{least:.6f}",
                ]
            )
    return csv_text([["dataset", "budget", "lowest_error", "by", "least_possible"], *rows])


def _draw_panels(sets: Sequence[DataSet]) -> Panels:
    """Return the nine panels as in the paper, errors in % by max cost, one per data set."""
    x, y = Axis("tests on the costliest path, at most"), Axis("objects in error, %")
    charts = []
    for one in sets:
        budgets = list(range(one.name in WITHOUT_ROOT, one.longest_path + 1))
        lines = [
            Line(f, budgets, (100.0 * one.lowest_errors(f)[budgets]).tolist()) for f in FUNCTIONS
        ]
        lines.append(
            Line(
                LEAST,
                budgets,
                (100.0 * one.lowest_errors(LEAST)[budgets]).tolist(),
                colour=LEAST_COLOUR,
                marked=False,
                dashed=True,
            )
        )
        charts.append(LineChart(one.called, lines, x, y, f"{one.objects:,} objects"))
    return Panels(
        "How much error does a bounded cost leave?",
        charts,
        3,
        "Figure 4: lowest error per max cost; Powers(l) stopped at every δ, hinged Pairs "
        "with every α, all tests of price 1",
        (
            "The tree of depth 0 is left out for House Votes and WBCD, as in the paper.  "
            "Dashed: the least error of any tree, proven.",
        ),
    )
