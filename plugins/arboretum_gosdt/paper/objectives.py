"""Six objectives on fourclass (§5, I.5, Figures 3 and 11): their trees, ROC curves on training and
test rows, false positives and negatives.

The paper's ω, θ, λ and its six categories per column are not printed: here six bins of equal
numbers of rows, ω = 7, θ = 0.1, and of the paper's λ the largest, 0.01, for which pAUC's tree is no
single leaf; AUC and pAUC are also compared on a grid of λ and θ.  It trains on 241 positive and 448
negative rows; the nearest of five contiguous folds leaves 242 of 689.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from arboretum import api
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
    Table,
    Tree,
    csv_text,
)
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import CALLED, is_installed, load_table, run, split_fold

DATA, FOLD, LAM, THETA = "fourclass", 1, 0.01, 0.1
ENCODER = {"numeric": "quantile", "n_bins": 6, "bin_tests": "thresholds"}
OBJECTIVES: Mapping[str, tuple[str, dict[str, float]]] = {
    "accuracy": ("gosdt", {}),
    "balanced": ("gosdt", {}),
    "weighted": ("gosdt", {"objective.omega": 7.0}),
    "f_score": ("fronts", {}),
    "auc": ("fronts", {}),
    "pauc": ("fronts", {"objective.theta": THETA}),
}
"""Objective → who solves it, and its fields."""
DRAWN = ("accuracy", "auc", "pauc")
GRID = {"lam": (0.02, 0.01, 0.005), "theta": (0.1, 0.2, 0.3)}
"""Settings at which AUC and pAUC are compared."""
SPARSE = 3
"""Leaves of a tree that is extremely sparse."""
AS_WELL = 0.05
"""pAUC does as well as AUC on the left where its area there is not less by more than this share
of θ.
"""


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return each of six objectives by its exact solver and by PyGOSDT, and AUC against pAUC at
    each λ of GRID; none where fourclass is not wanted.
    """
    key = {"chapter": "objectives", "seconds": paper.seconds}
    both = {"exact": 0.2, "pygosdt": 1.0}
    own = [
        Piece({**key, "objective": name, "by": by}, cost * paper.seconds)
        for name in OBJECTIVES
        for by, cost in both.items()
    ]
    grid = [Piece({**key, "by": "grid", "lam": lam}, paper.seconds) for lam in GRID["lam"]]
    return [*own, *grid] if paper.wants(DATA) else []


def work(key: Key, seed: int, services: Services) -> Facts:
    """value, bound, leaves, FP and FN on the training rows, and (FPR, TPR) of the curves on
    training and test rows.
    """
    if key["by"] == "grid":
        return _compare_areas(key, services)
    name = key["objective"]
    method, fields = OBJECTIVES[name]
    method = "pygosdt" if key["by"] == "pygosdt" else method
    if not is_installed(services, method):
        return {"absent": True}
    train, test = split_fold(load_table(services, DATA), FOLD)
    found = run(
        services,
        train,
        method,
        {"objective.lam": LAM, **fields},
        key["seconds"],
        ENCODER,
        objective=name,
    )
    said, positive = found.tree.predict(train) == 1, train.target.codes == 1
    reported: Facts = {
        "value": found.value,
        "bound": found.bound,
        "proven": found.finished,
        "leaves": found.leaves,
        "seconds": found.seconds,
    }
    reported |= {
        "fp": int((said & ~positive).sum()),
        "fn": int((~said & positive).sum()),
        "rows": [int(positive.sum()), int((~positive).sum())],
    }
    reported |= {
        part: roc_curve(found.tree, table) for part, table in (("training", train), ("test", test))
    }
    return reported | (
        {"svg": found.tree.to_svg(title=f"fourclass: {name}, {found.leaves} leaves")}
        if name in DRAWN
        else {}
    )


def _compare_areas(key: Key, services: Services) -> Facts:
    """Return ``rows`` of [θ, area up to θ and leaves of AUC's tree, the same of pAUC's] at a λ, a
    row for each θ of GRID; empty where AUC's tree is not proven in time.
    """
    train, _ = split_fold(load_table(services, DATA), FOLD)
    given = {"objective.lam": key["lam"]}
    auc = run(services, train, "fronts", given, key["seconds"], ENCODER, objective="auc")
    rows = []
    for theta in GRID["theta"] if auc.finished else ():
        pauc = run(
            services,
            train,
            "fronts",
            {**given, "objective.theta": theta},
            key["seconds"],
            ENCODER,
            objective="pauc",
        )
        if pauc.finished:
            rows.append(
                [
                    theta,
                    *(
                        x
                        for one in (auc, pauc)
                        for x in (area_up_to(roc_curve(one.tree, train), theta), one.leaves)
                    ),
                ]
            )
    return {"rows": rows}


def roc_curve(tree: Tree, table: Table) -> list[list[float]]:
    """Return [FPR, TPR] of a tree on a table, two lists of shares, where more and more leaves say
    yes, that is the second class; every row counts 1.
    """
    found = api.curves.Curve.of(
        tree.predict_proba(table)[:, 1], table.target.codes == 1, np.ones(table.n_rows)
    )
    return [found.fpr.tolist(), found.recall.tolist()]


def area_up_to(points: Sequence[Sequence[float]], most: float = 1.0) -> float:
    """Return the area under a curve up to a false-positive rate.

    points : FPR and TPR, ascending.
    """
    x, y = np.array(points)
    at = np.append(x[x < most], most)
    return float(np.trapezoid(np.append(y[x < most], np.interp(most, x, y)), at))


def judge(results: Keyed) -> Judgement:
    """Claims of §2, §5, I.5 and I.10 about the trees of six objectives; their ROC curves, a table
    of values and areas, and the trees that are drawn.
    """
    by = {
        who: {
            key["objective"]: one
            for key, one in results
            if key["by"] == who and "absent" not in one
        }
        for who in ("exact", "pygosdt")
    }
    found = {name: by["exact"][name] for name in OBJECTIVES if name in by["exact"]}
    grid = [
        (key["lam"], *row) for key, one in results if key["by"] == "grid" for row in one["rows"]
    ]
    claims = (
        [_judge_difference(found), _judge_leaves(found), _judge_efficiency(found)]
        if len(found) == len(OBJECTIVES)
        else []
    )
    claims += [*_judge_areas(grid), *_judge_values(by)]
    if not found:
        return Judgement(claims=claims)
    rows = [
        [
            name,
            who,
            f"{one['value']:.6f}",
            f"{one['bound']:.6f}",
            one["proven"],
            one["leaves"],
            one["fp"],
            one["fn"],
            *(f"{area_up_to(one[part]):.6f}" for part in ("training", "test")),
            f"{area_up_to(one['training'], THETA):.6f}",
        ]
        for who, own in by.items()
        for name, one in own.items()
    ]
    header = [
        "objective",
        "by",
        "value",
        "bound",
        "proven",
        "leaves",
        "fp",
        "fn",
        "training_auc",
        "test_auc",
        "training_area_to_theta",
    ]
    charts = []
    for part in ("training", "test"):
        lines = [
            Line(f"{name}, {one['leaves']} leaves", one[part][0], one[part][1], marked=True)
            for name, one in found.items()
        ]
        charts.append(
            LineChart(
                f"{part} rows",
                lines,
                Axis("false positive rate"),
                Axis("true positive rate"),
                unit=True,
            )
        )
    reported = (
        f"λ = {LAM:g}, ω = 7, θ = {THETA:g}; six bins per column; a piece of a curve is a leaf"
    )
    pictures = {
        "objectives_roc": Panels("ROC curves of six objectives on fourclass", charts, 2, reported)
    }
    pictures |= {f"objectives_{name}": found[name]["svg"] for name in DRAWN if name in found}
    metrics = {f"leaves/{name}": float(one["leaves"]) for name, one in found.items()}
    tables = {"objectives.csv": csv_text([header, *rows])}
    return Judgement.of_chapter(
        "six objectives",
        {"data": DATA, "lambda": LAM},
        metrics,
        claims=claims,
        tables=tables,
        pictures=pictures,
    )


def _judge_difference(found: Plain) -> Claim:
    """Judge whether more than half of the objectives' trees differ in false positives and
    negatives.

    found : objective → what the exact solver found, of all objectives.
    """
    pairs = {name: (one["fp"], one["fn"]) for name, one in found.items()}
    reported = ", ".join(f"{name} {fp} and {fn}" for name, (fp, fn) in pairs.items())
    holds = 2 * len(set(pairs.values())) > len(pairs)
    return Claim.judged(
        "§5: different objectives give different trees, with different FP and FN",
        holds,
        f"{len(set(pairs.values()))} different pairs of six: {reported}",
    )


def _judge_leaves(found: Plain) -> Claim:
    """Judge whether one of the trees has at most ``SPARSE`` leaves."""
    leaves = {name: one["leaves"] for name, one in found.items()}
    reported = ", ".join(f"{name} {n}" for name, n in leaves.items())
    return Claim.judged(
        "I.5: some of the trees are extremely sparse",
        min(leaves.values()) <= SPARSE,
        f"leaves: {reported} (sparse: at most {SPARSE})",
    )


def _judge_areas(grid: Sequence[Sequence[float]]) -> list[Claim]:
    """Judge whether pAUC is as good as AUC on the left, with fewer leaves, at some setting: the
    paper sees it at one, which it does not print.

    grid : rows of (λ, θ, area of AUC's tree up to θ, its leaves, area of pAUC's, its leaves).
    """
    if not grid:
        return []
    holds = [
        pauc >= auc - AS_WELL * theta and few < many for _, theta, auc, many, pauc, few in grid
    ]
    reported = "; ".join(
        f"λ = {lam:g}, θ = {theta:g}: {pauc:.4f} with {few:g} leaves, AUC {auc:.4f} with {many:g}"
        for lam, theta, auc, many, pauc, few in grid
    )
    sentence = (
        "I.5: pAUC does as well as AUC on the left of the ROC curve, and is sparser (at some "
        "setting)"
    )
    whole = len(grid) == len(GRID["lam"]) * len(GRID["theta"])
    return [
        Claim.judged(
            sentence,
            any(holds) if whole or any(holds) else None,
            f"at {sum(holds)} of {len(grid)} settings; area up to θ of pAUC's tree: {reported}",
        )
    ]


def _judge_efficiency(found: Plain) -> Claim:
    """Judge whether the tree of best AUC has more area under the training curve than that of best
    accuracy.
    """
    areas = {name: area_up_to(one["training"]) for name, one in found.items()}
    reported = ", ".join(f"{name} {one:.4f}" for name, one in areas.items())
    sentence = "I.10: the new objectives give a more efficient ROC curve than accuracy"
    return Claim.judged(
        sentence, areas["auc"] > areas["accuracy"], f"area under the training curve: {reported}"
    )


def _judge_values(by: Mapping[str, Plain]) -> list[Claim]:
    """Judge whether PyGOSDT finds the values of the exact solvers, where both prove theirs; open
    while it has not proven all of them and none differs.

    by : "exact" and "pygosdt" → objective → what it found.
    """
    both = [name for name in OBJECTIVES if name in by["exact"] and name in by["pygosdt"]]
    if not both:
        return []
    proven = [
        name for name in both if by["exact"][name]["proven"] and by["pygosdt"][name]["proven"]
    ]
    same = [
        name
        for name in proven
        if abs(by["exact"][name]["value"] - by["pygosdt"][name]["value"]) < 1e-9
    ]
    reported = (
        f"equal on {len(same)} of {len(proven)} objectives that {CALLED['pygosdt']} proves "
        f"({', '.join(proven) or 'none'}), of {len(both)}"
    )
    return [
        Claim.judged(
            "§2: one branch and bound optimises all six objectives",
            len(same) == len(proven)
            if len(proven) == len(OBJECTIVES) or len(same) < len(proven)
            else None,
            reported,
        )
    ]
