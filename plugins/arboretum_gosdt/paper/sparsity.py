"""Accuracy against leaves (I.6, Figures 4, 5, 12 and 13): six data sets, five contiguous folds,
every method with all its settings.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Panels,
    Piece,
    Plain,
    Services,
    csv_text,
)
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import (
    CALLED,
    COLOURS,
    PENALISED,
    is_installed,
    load_released,
    published,
    run,
    split_fold,
)

DATA = ("monk1", "monk2", "monk3", "tic-tac-toe", "car-gosdt", "compas-binary")
FOLDS = 5
METHODS = ("gosdt_reference", "gosdt", "osdt", "dl85", "binoct", "cart", "optimal_subtree")
TIMEOUTS = 3
"""Runs out of time that end a series; its settings come from the easiest to the hardest."""
MOST = 32
"""Leaves of trees that are drawn, as in the paper."""
ALMOST = 0.01
"""CART is almost optimal where its training accuracy is within so much of the best tree with as
many leaves.
"""
APART = 2.0
"""Standard errors within which a mean difference is insignificant."""
SPARSE = 8
"""Leaves of a sparse tree; training and test accuracy are close where they differ by no more
than CLOSE.
"""
CLOSE = 0.05
COST = {"gosdt_reference": 2.0, "osdt": 3.0, "binoct": 4.0}
"""What a method takes in multiples of the seconds of a run, where it is one that runs out of
them.
"""


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a piece for every wanted data set, fold and method."""
    return [
        Piece(
            {
                "chapter": "sparsity",
                "dataset": name,
                "fold": fold,
                "method": method,
                "seconds": paper.seconds,
            },
            COST.get(method, 0.05) * paper.seconds,
        )
        for name in DATA
        if paper.wants(name)
        for fold in range(FOLDS)
        for method in METHODS
    ]


def settings_of(method: str) -> Iterator[tuple[float, Facts]]:
    """Yield what varies, and the fields of a run, from the fewest leaves to the most."""
    limits = published()["cart_limits"]
    if method in PENALISED:
        for lam in published()["regularisations"]:
            yield lam, {"objective.lam": lam}
    elif method == "optimal_subtree":
        for leaves in (1, 2, 3, *range(4, MOST + 1, 2)):
            yield leaves, {"pruner.max_price": leaves}
    else:
        for depth, leaves in zip(limits["depth"], limits["leaves"], strict=True):
            more = (
                {"stopping.standard.max_leaves": leaves, "method.order": "best"}
                if method == "cart"
                else {"objective.lam": 0.0}
            )
            yield depth, {"stopping.standard.max_depth": depth, **more}


def work(key: Key, seed: int, services: Services) -> Facts:
    """points : rows of [setting, leaves, training accuracy, test accuracy, training errors] of the
    runs that ended in time.

    late : settings whose runs ran out of time;  rows : that train.
    """
    if not is_installed(services, key["method"]):
        return {"absent": True}
    train, test = split_fold(load_released(services, key["dataset"]), key["fold"], FOLDS)
    points: list[list[object]] = []
    late: list[object] = []
    for setting, values in settings_of(key["method"]):
        if len(late) >= TIMEOUTS:
            break
        found = run(services, train, key["method"], values, key["seconds"])
        if not found.finished:
            late.append(setting)
            continue
        right = float((found.tree.predict(test) == test.target.codes).mean())
        points.append([setting, found.leaves, 1 - found.errors / train.n_rows, right, found.errors])
    return {"points": points, "late": late, "rows": train.n_rows}


class Point(NamedTuple):
    """A tree of a method at a setting: its leaves, its shares of right rows, and its errors, a
    number of training rows.
    """

    setting: float
    leaves: float
    training: float
    test: float
    errors: float


@attrs.frozen(eq=False)
class Fold:
    """What methods found on one fold of a data set.

    rows : that train.
    points : by method, of the runs that ended in time, the easiest setting first.
    """

    dataset: str
    fold: int
    rows: int
    points: Mapping[str, Sequence[Point]]

    def best(self, method: str, leaves: float) -> Point | None:
        """Return the point of greatest training accuracy with at most so many leaves; of equally
        good ones that of fewest leaves; None where there is none.
        """
        fits = [point for point in self.points.get(method, ()) if point.leaves <= leaves]
        return max(fits, key=lambda point: (point.training, -point.leaves)) if fits else None

    def lacking(self, point: Point) -> float:
        """Return by how much training accuracy a tree with as many leaves can be better, at most:
        by the optima R* of all λ, errors ≥ R* − λ · leaves.
        """
        optima = [
            (one.setting, one.errors / self.rows + one.setting * one.leaves)
            for one in self.points.get("gosdt", ())
        ]
        least = max((value - lam * point.leaves for lam, value in optima), default=0.0)
        return point.errors / self.rows - max(least, 0.0)


def judge(results: Keyed) -> Judgement:
    """Claims of §5, I.6 and I.10 about accuracy against leaves; all points, their medians over the
    folds, and panels of training and test accuracy.  Empty without results.
    """
    found: dict[tuple[str, int], Facts] = {}
    for key, result in results:
        if "absent" not in result:
            found.setdefault((key["dataset"], key["fold"]), {})[key["method"]] = result
    if not found:
        return Judgement()
    places = sorted(found, key=lambda place: (DATA.index(place[0]), place[1]))
    folds = [
        Fold(
            *place,
            next(iter(found[place].values()))["rows"],
            {m: [Point(*row) for row in one["points"]] for m, one in found[place].items()},
        )
        for place in places
    ]
    whole = {name: sum(fold.dataset == name for fold in folds) == FOLDS for name in DATA}
    claims = [
        *_judge_frontier(folds),
        *_judge_near_optimal(folds, all(whole.values())),
        *_judge_monk2(folds),
        *_judge_finished_settings(found, places),
        *_judge_gap(folds),
        *_judge_significance(folds, all(whole.values())),
        *_judge_generalises(folds, whole),
    ]
    rows = [
        [*place, m, *point]
        for place in places
        for m, one in found[place].items()
        for point in one["points"]
    ]
    header = [
        "dataset",
        "fold",
        "method",
        "setting",
        "leaves",
        "training_accuracy",
        "test_accuracy",
        "training_errors",
    ]
    summary = [
        [name, m, *row]
        for name in DATA
        for m, rows_ in medians(folds, name).items()
        for row in rows_
    ]
    columns = [
        "dataset",
        "method",
        "setting",
        "folds",
        *(
            f"{what}_{q}"
            for what in ("leaves", "training", "test")
            for q in ("quartile", "median", "upper")
        ),
    ]
    tables = {
        "sparsity.csv": csv_text([header, *rows]),
        "sparsity_medians.csv": csv_text([columns, *summary]),
    }
    names = [name for name in DATA if any(fold.dataset == name for fold in folds)]
    pictures = {
        f"{what}_against_leaves": _draw_medians(folds, names, what, column)
        for what, column in (("training", 7), ("test", 10))
    }
    late = {
        CALLED[m]: sum(len(one.get(m, {}).get("late", ())) for one in found.values())
        for m in METHODS
    }
    reported = ", ".join(f"{name} {n}" for name, n in late.items() if n) or "none"
    notes = [
        f"Accuracy against leaves: {len(rows):,} trees on {len(folds)} folds of {len(names)} "
        f"data sets ({sum(whole.values())} whole); runs out of time: {reported}."
    ]
    metrics = {f"points/{m}": float(sum(row[2] == m for row in rows)) for m in METHODS}
    return Judgement.of_chapter(
        "accuracy against leaves",
        {"folds": len(folds)},
        metrics,
        claims=claims,
        tables=tables,
        pictures=pictures,
        notes=notes,
    )


def medians(folds: Sequence[Fold], name: str) -> dict[str, list[list[float]]]:
    """Return method → per setting: the setting, folds that ended in time, then quartile, median and
    upper quartile of leaves, of training and of test accuracy.

    name : of the data set.
    """
    found: dict[str, list[list[float]]] = {}
    for method in METHODS:
        by: dict[float, list[Sequence[float]]] = {}
        for fold in folds:
            for point in fold.points.get(method, ()) if fold.dataset == name else ():
                by.setdefault(point.setting, []).append(point[1:4])
        if by:
            found[method] = [
                [
                    setting,
                    len(own),
                    *np.percentile(own, (25, 50, 75), axis=0).T.ravel().round(6).tolist(),
                ]
                for setting, own in by.items()
            ]
    return found


def _judge_frontier(folds: Sequence[Fold]) -> list[Claim]:
    """Judge whether no tree of another method costs less than GOSDT's at the λ at which that is the
    optimum.
    """
    claims = []
    for method in ("gosdt_reference", "gosdt"):
        asked = beaten = 0
        for fold in folds:
            others = [
                point
                for other in METHODS
                if other not in ("gosdt_reference", "gosdt")
                for point in fold.points.get(other, ())
            ]
            for point in fold.points.get(method, ()):
                asked += 1
                value = point.errors / fold.rows + point.setting * point.leaves
                beaten += any(
                    one.errors / fold.rows + point.setting * one.leaves < value - 1e-9
                    for one in others
                )
        if asked:
            sentence = (
                f"I.6: {CALLED[method]} lies on the most efficient frontier of training accuracy "
                "and leaves"
            )
            claims.append(
                Claim.judged(
                    sentence,
                    not beaten,
                    f"a tree of another method has less errors / n + λ · leaves at {beaten} "
                    f"of {asked} points",
                )
            )
    return claims


def _judge_near_optimal(folds: Sequence[Fold], whole: bool) -> list[Claim]:
    """Judge whether CART, where it is almost optimal in training, lacks little on test rows beside
    the proven best tree with no more leaves, and less than elsewhere.

    whole : whether all folds of all data sets are there; else it is open.
    """
    near: list[float] = []
    far: list[float] = []
    for fold in folds:
        for point in fold.points.get("cart", ()):
            best = fold.best("gosdt", point.leaves)
            if best is not None and point.leaves <= MOST:
                (near if fold.lacking(point) <= ALMOST else far).append(best.test - point.test)
    if not near or not far:
        return []
    reported = (
        f"mean test accuracy lacking: {np.mean(near):.2%} where CART is proven to be within "
        f"{ALMOST:.0%} of the best training accuracy ({len(near)} trees), {np.mean(far):.2%} "
        f"elsewhere ({len(far)})"
    )
    sentence = "I.6: where CART is almost optimal in training, it tends to have high test accuracy"
    return [
        Claim.judged(
            sentence,
            bool(np.mean(near) <= ALMOST and np.mean(near) < np.mean(far)) if whole else None,
            reported,
        )
    ]


def _judge_significance(folds: Sequence[Fold], whole: bool) -> list[Claim]:
    """Judge whether the test accuracy of the proven best tree differs insignificantly from CART's
    on some data set, where CART is almost optimal in training: means of folds against their
    standard error.

    whole : whether all folds of all data sets are there; else it is open.
    """
    means: dict[str, list[float]] = {}
    for fold in folds:
        near = [
            best.test - point.test
            for point in fold.points.get("cart", ())
            if point.leaves <= MOST
            and fold.lacking(point) <= ALMOST
            and (best := fold.best("gosdt", point.leaves))
        ]
        if near:
            means.setdefault(fold.dataset, []).append(float(np.mean(near)))
    reported, apart = [], []
    for name, own in means.items():
        error = float(np.std(own, ddof=1) / len(own) ** 0.5) if len(own) > 1 else 0.0
        # one fold says nothing of a spread
        apart += [abs(np.mean(own)) > APART * error] * (len(own) > 1)
        spread = f" ± {error:.2%}" if len(own) > 1 else ""
        reported.append(
            f"{name} {np.mean(own):+.2%}{spread} ({len(own)} fold{'s' * (len(own) > 1)})"
        )
    if not reported:
        return []
    sentence = (
        "I.6, Figure 13: the difference of frontiers on test rows sometimes becomes "
        "insignificant where training accuracies are close"
    )
    evidence = (
        f"test accuracy of the best tree less CART's, where CART is within {ALMOST:.0%} of the "
        f"best in training: {'; '.join(reported)}; insignificant (within {APART:g} standard "
        f"errors) on {len(apart) - sum(apart)} of {len(apart)}"
    )
    return [Claim.judged(sentence, not all(apart) if whole else None, evidence)]


def _judge_generalises(folds: Sequence[Fold], whole: Mapping[str, bool]) -> list[Claim]:
    """Judge whether training and test accuracy of optimal trees of few leaves differ by at most
    CLOSE on most data sets.

    whole : data set → whether all its folds are there; open unless all are.
    """
    gaps: dict[str, list[float]] = {}
    for fold in folds:
        for point in fold.points.get("gosdt", ()):
            if 1 < point.leaves <= SPARSE:
                gaps.setdefault(fold.dataset, []).append(point.training - point.test)
    if not gaps:
        return []
    close = {name: abs(float(np.mean(own))) <= CLOSE for name, own in gaps.items()}
    reported = "; ".join(f"{name} {np.mean(own):+.2%}" for name, own in gaps.items())
    sentence = (
        f"§5: training and test accuracy are close for sparse trees (within {CLOSE:.0%} on most "
        "data sets)"
    )
    evidence = (
        f"training less test accuracy of optimal trees of 2 to {SPARSE} leaves, mean: {reported}; "
        f"close on {sum(close.values())} of {len(close)}"
    )
    return [
        Claim.judged(
            sentence,
            2 * sum(close.values()) > len(close) if all(whole.values()) else None,
            evidence,
        )
    ]


def _judge_monk2(folds: Sequence[Fold]) -> list[Claim]:
    """Compare CART's trees, of every fold and number of leaves, with the best tree of at most as
    many.
    """
    pairs = [
        (best.training - point.training, best.test - point.test)
        for fold in folds
        if fold.dataset == "monk2"
        for point in fold.points.get("cart", ())
        if point.leaves <= MOST and (best := fold.best("gosdt", point.leaves))
    ]
    if not pairs:
        return []
    training, test = np.mean(pairs, axis=0)
    reported = (
        f"mean over {len(pairs)} trees of CART and the best tree with no more leaves: "
        f"{training:+.2%} in training, {test:+.2%} on test rows"
    )
    return [
        Claim.judged(
            "I.6: the difference in training accuracy on monk2 shows in test accuracy",
            bool(training > 0 and test > 0),
            reported,
        )
    ]


def _judge_finished_settings(
    found: Mapping[tuple[str, int], Plain], places: Sequence[tuple[str, int]]
) -> list[Claim]:
    """Judge which of OSDT and GOSDT as printed ends more settings in time, on the folds of both.

    found : (data set, fold) → method → what ``work`` returned; places : its keys, in order.
    """
    both = [found[place] for place in places if {"osdt", "gosdt_reference"} <= set(found[place])]
    if not both:
        return []
    osdt, gosdt = (sum(len(one[m]["points"]) for one in both) for m in ("osdt", "gosdt_reference"))
    reported = (
        f"{osdt} of OSDT and {gosdt} of GOSDT, of {len(both) * len(published()['regularisations'])}"
    )
    return [
        Claim.judged(
            "I.10: within the time limit OSDT yields fewer points of the frontier than GOSDT",
            osdt < gosdt,
            reported,
        )
    ]


def _judge_gap(folds: Sequence[Fold]) -> list[Claim]:
    """Tell how far the others are from the best training accuracy, which only proofs can tell."""
    lacking: dict[str, list[float]] = {}
    for fold in folds:
        for method in ("cart", "optimal_subtree", "dl85", "binoct"):
            for point in fold.points.get(method, ()):
                if point.leaves <= MOST and fold.points.get("gosdt"):
                    lacking.setdefault(method, []).append(fold.lacking(point))
    if "cart" not in lacking:
        return []
    reported = ", ".join(
        f"{CALLED[m]} {np.mean(one):.2%} on average, {np.max(one):.2%} for the worst tree"
        for m, one in lacking.items()
    )
    sentence = "§5: the gap of other methods to the optimum can be told, and CART's is not 0"
    return [
        Claim.judged(
            sentence,
            bool(np.mean(lacking["cart"]) > 0),
            f"training accuracy lacking, at most, beside the best tree with as many leaves: "
            f"{reported}",
        )
    ]


def _draw_medians(folds: Sequence[Fold], names: Sequence[str], what: str, column: int) -> Panels:
    """Draw medians over folds by leaves for every data set, and bars from quartile to quartile.

    what : "training" or "test".
    column : of a row of :func:`medians`, where the median of that is.
    """
    charts, of_name = [], {name: medians(folds, name) for name in names}
    for name, own in of_name.items():
        lines = []
        # in every panel, so that they share a legend
        for method in (m for m in METHODS if any(m in one for one in of_name.values())):
            rows = own.get(method, [[0.0, 0, *[float("nan")] * 9]])
            shown = sorted(
                (row[3], *row[column - 2 : column + 1]) for row in rows if not row[3] > MOST
            )
            leaves, middles = [row[0] for row in shown], [100 * row[2] for row in shown]
            bars = [100 * end for row in shown for end in (row[1], row[3], float("nan"))]
            lines.append(
                Line(
                    CALLED[method],
                    leaves,
                    middles,
                    colour=COLOURS[method],
                    dashed=method == "gosdt",
                )
            )
            lines.append(
                Line(
                    CALLED[method],
                    [x for x in leaves for _ in range(3)],
                    bars,
                    colour=COLOURS[method],
                    marked=False,
                    quiet=True,
                )
            )
        charts.append(LineChart(name, lines, Axis("leaves"), Axis(f"{what} accuracy, %")))
    reported = "median over five contiguous folds; bars: quartiles; runs out of time are left out"
    return Panels(
        f"{what.capitalize()} accuracy against leaves",
        charts,
        2,
        reported,
        (f"Trees of more than {MOST} leaves are not drawn.",),
    )
