"""The example of Figures 2 and 3, and its kin of 2^k objects: the bill without errors grows with
log n, the one with four errors does not.
"""

from collections.abc import Mapping
from fractions import Fraction

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    Cell,
    Claim,
    Context,
    Encoded,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Parts,
    Piece,
    Plain,
    Services,
    Status,
    Tree,
    VerificationError,
    csv_text,
    sure,
)
from arboretum_maxcost.greedy.tradeoff import curve_over_budget, curve_over_delta, stop_at_impurity
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.paper.study import (
    Measured,
    grow_tree,
    load_objects,
    parts_of_greedytree,
    pose_problem,
    published,
    verify_measures,
)

BITS = range(4, 15)
PUBLISHED = 10
OUTLIERS = 4
MEGABYTES = 1500
"""For a proof."""
SAME = ("Powers(3)", "Powers(5)")
"""Functions that build the same tree on the 1024 objects."""


def pieces(paper: MaxCostStudy) -> list[Piece]:
    """Return a piece for every k of BITS: 2^k objects with four outliers."""
    return [
        Piece({"chapter": "synthetic", "bits": bits}, 0.05 + 3.0 ** (bits - 12)) for bits in BITS
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return the measures of the greedy tree of Pairs, what stopping makes of it, and the proven
    least maximum path cost of trees without errors.  Raises VerificationError when a tree is not
    what it says, or the minimum is not proven.

    greedy, stopped : errors, max cost, leaves, expected cost.
    errors : by depth.
    F : of the nodes, by depth, each value once.
    wrong : rows that the stopped tree gives up.
    tests : asked at the root and below.
    least : the minimum.
    more : on the published objects, what else is known of them.
    """
    bits = key["bits"]
    objects, parts = (
        load_objects(services, "dfep", (("bits", bits),)),
        parts_of_greedytree(services, "pairs"),
    )
    tree = grow_tree(objects, parts)
    depth, curve = tree.depth_of, curve_over_budget(tree)
    delta = float(tree.impurity[depth == 2].max())
    steps = curve_over_delta(tree)
    place = int(np.flatnonzero(steps.at == delta)[0])
    early = verify_measures(
        stop_at_impurity(tree, delta),
        objects,
        steps.error[place] * objects.n_objects,
        steps.max_cost[place],
    )
    return {
        "objects": objects.n_objects,
        "greedy": _measure(tree, objects),
        "stopped": {
            "delta": delta,
            "below": float(tree.impurity[depth == 1].min()),
            **_measure(early, objects),
        },
        "wrong": np.flatnonzero(
            early.predict(objects.table) != objects.table.target.codes
        ).tolist(),
        "errors": np.rint(curve.error * objects.n_objects).astype(int).tolist(),
        "F": [np.unique(tree.impurity[depth == d]).tolist() for d in range(3)],
        "tests": [
            tree.rule(int(v)).columns[0] for v in np.flatnonzero((depth < 2) & ~tree.is_leaf)
        ],
        "least": _least_max_cost(services, objects, parts),
        "more": _examine_published_objects(services, objects) if bits == PUBLISHED else {},
    }


def _measure(tree: Tree, objects: Encoded) -> Facts:
    return attrs.asdict(Measured.walk(tree, objects))


def _least_max_cost(services: Services, objects: Encoded, parts: Parts) -> float:
    """Return the proven least maximum path cost of trees without errors on ``objects``, tests of
    price 1, with the leaves that ``parts`` allow.  Raises VerificationError where it is not
    proven.
    """
    choices = {
        "method": "exact",
        "solver": "subtable_dp",
        "objective": "zero_error",
        "complexity": "max_cost",
        "stopping": ["pure"],
        "cost": "unit",
    }
    exact = services.parts(choices)
    solution = sure(exact.method).fit(
        pose_problem(objects, exact), Context(memory_bytes=MEGABYTES * 1_000_000)
    )
    if solution.status is not Status.optimal:
        raise VerificationError(
            f"verification failed: the least max cost is not proven within {MEGABYTES} MB"
        )
    verify_measures(sure(solution.tree), objects, 0, solution.value)
    return float(solution.value)


def _examine_published_objects(services: Services, objects: Encoded) -> Facts:
    """Return 1/R of each test at the root by Pairs, the measures of the trees of two more
    functions, and of that of hinged Pairs.
    """
    value, k = services.component("impurity", "pairs").value, objects.n_classes
    whole = float(value(np.bincount(objects.label, minlength=k).astype(float)))
    tables = np.array(
        [
            np.bincount(2 * objects.label + column, minlength=2 * k).reshape(k, 2).T
            for column in objects.codes.T
        ],
        float,
    )
    hinged = grow_tree(
        objects,
        parts_of_greedytree(
            services,
            "hinged_pairs",
            (("alpha", published()["computed"]["synthetic"]["hinged"]["alpha"]),),
        ),
    )
    return {
        "gains": (whole - value(tables).max(axis=1)).tolist(),
        "same": {
            name: _measure(
                grow_tree(objects, parts_of_greedytree(services, "powers", (("l", int(name[7])),))),
                objects,
            )
            for name in SAME
        },
        "hinged": {"root": hinged.rule(0).columns[0], **_measure(hinged, objects)},
    }


def judge(results: Keyed) -> Judgement:
    """Return the verdict: Figure 3 by numbers, where the published objects are among the results;
    growth with n; the sentences about both.
    """
    found = {key["bits"]: result for key, result in results}
    published = found.get(PUBLISHED)
    cells = _cells_of_figure_3(published) if published else []
    claims = _claims_on_figure_3(published) if published else []
    held = {
        bits: _stopped_tree_is_as_printed(one) and one["least"] == one["greedy"]["max_cost"] == bits
        for bits, one in found.items()
    }
    words = (
        f"k = {bits}: least {one['least']:g}, greedy {one['greedy']['max_cost']:g}, stopped "
        f"{one['stopped']['max_cost']:g} "
        f"with {one['stopped']['errors']} errors"
        for bits, one in found.items()
    )
    sentence = (
        "a constant number of outliers changes a tree of constant max cost (2) to one of log₂ n, "
        "greedy or optimal"
    )
    claims.append(
        Claim.judged(f"Section 5, 2^k objects: {sentence}", all(held.values()), "; ".join(words))
    )
    header = (
        "bits objects least_max_cost greedy_max_cost greedy_expected_cost greedy_leaves "
        "delta stopped_max_cost stopped_errors"
    )
    rows = [
        [
            bits,
            one["objects"],
            f"{one['least']:g}",
            *(f"{one['greedy'][name]:g}" for name in ("max_cost", "expected_cost", "leaves")),
            f"{one['stopped']['delta']:g}",
            f"{one['stopped']['max_cost']:g}",
            one["stopped"]["errors"],
        ]
        for bits, one in found.items()
    ]
    metrics = {
        f"{what}/{bits}": one[what]["max_cost"]
        for bits, one in found.items()
        for what in ("greedy", "stopped")
    }
    return Judgement.of_chapter(
        "synthetic example (Figures 2 and 3)",
        {"bits": ",".join(map(str, found))},
        metrics,
        cells=cells,
        claims=claims,
        tables={"synthetic.csv": csv_text([header.split(), *rows])},
        pictures=_draw_pictures(found),
    )


def _stopped_tree_is_as_printed(one: Plain) -> bool:
    """Return whether the tree that gives the outliers up has max cost 2.   one : a result."""
    return (one["stopped"]["max_cost"], one["stopped"]["errors"]) == (2, OUTLIERS)


def _cells_of_figure_3(one: Plain) -> list[Cell]:
    """Return the printed numbers of the published 1024 objects, and those that follow from the
    text.

    one : what :func:`work` returned of them.
    """
    paper, computed = published()["synthetic"], published()["computed"]["synthetic"]
    reported, text = "Figure 3", "Figure 3, from the text"
    greedy, hinged = one["greedy"], computed["hinged"]
    inverse = [float(1 / Fraction(r)) for r in computed["R"]]
    pairs = [
        (reported, "Pairs", "max cost", paper["max_cost"], greedy["max_cost"]),
        (reported, "optimum", "max cost", paper["optimal_max_cost"], one["least"]),
        *(
            (reported, "Pairs", f"errors at depth {d}", wanted, one["errors"][d])
            for d, wanted in enumerate(paper["errors"])
        ),
        (
            reported,
            "Pairs, stopped early",
            "error at depth 2, %",
            paper["error_percent_at_2"],
            round(100 * one["stopped"]["errors"] / one["objects"], 2),
        ),
        *(
            (text, "Pairs", f"F at depth {d}", wanted, one["F"][d][0])
            for d, wanted in enumerate(computed["F_by_depth"])
        ),
        *(
            (text, "Pairs", f"1/R(t{t + 1})", inverse[min(t, 2)], gain)
            for t, gain in enumerate(one["more"]["gains"])
        ),
        (text, "Pairs", "leaves", computed["leaves"], greedy["leaves"]),
        (text, "Pairs", "expected cost", computed["expected_cost"], greedy["expected_cost"]),
        (text, "Pairs", "least δ for depth 2", computed["F_by_depth"][2], one["stopped"]["delta"]),
        (
            text,
            "Pairs",
            "δ for depth 2, less than",
            computed["F_by_depth"][1],
            one["stopped"]["below"],
        ),
        *(
            (
                text,
                f"hinged Pairs, α = {hinged['alpha']}",
                name,
                hinged[name],
                one["more"]["hinged"][name],
            )
            for name in ("max_cost", "errors", "leaves")
        ),
    ]
    return [
        Cell.judged(table, row, column, wanted, own, 0.0, recomputed=table == text)
        for table, row, column, wanted, own in pairs
    ]


def _claims_on_figure_3(one: Plain) -> list[Claim]:
    """Return the sentences on the published 1024 objects.   one : as :func:`_cells_of_figure_3`."""
    paper, hinged = published()["synthetic"], published()["computed"]["synthetic"]["hinged"]
    same = all(other == one["greedy"] for other in one["more"]["same"].values())
    unlike = [f"F at depth {d} is {own}" for d, own in enumerate(one["F"]) if len(own) != 1]
    return [
        Claim.judged(
            "Figure 2: the objects given up are 0, 256, 512 and 768",
            one["wrong"] == paper["outliers"],
            f"given up: {one['wrong']}",
        ),
        Claim.judged(
            "Figure 3: greedy by Pairs asks t1, then t2 on both sides",
            one["tests"] == paper["tests"],
            f"asked: {', '.join(one['tests'])}",
        ),
        Claim.judged(
            "All nodes of depth 1, and all of depth 2, have the same F",
            not unlike,
            "; ".join(unlike) or "one value per depth",
        ),
        Claim.judged(
            f"{' and '.join(SAME)} build a tree of the same measures",
            same,
            f"errors, max cost, leaves and expected cost of {len(SAME)} trees",
        ),
        Claim.judged(
            f"Hinged Pairs with α = {hinged['alpha']} starts with {hinged['root']}",
            one["more"]["hinged"]["root"] == hinged["root"],
            f"grown with {one['more']['hinged']['root']}",
        ),
    ]


def _draw_pictures(found: Mapping[int, Plain]) -> dict[str, LineChart]:
    """Return the charts by file name: growth with n, and Figure 3 where its objects are among the
    results.
    """
    objects = [one["objects"] for one in found.values()]
    lines = [
        Line("no error: greedy", objects, [one["greedy"]["max_cost"] for one in found.values()]),
        Line(
            "no error: least possible",
            objects,
            [one["least"] for one in found.values()],
            colour=3,
            dashed=True,
            marked=False,
        ),
        Line(
            "stopped early, four errors",
            objects,
            [one["stopped"]["max_cost"] for one in found.values()],
            colour=1,
        ),
    ]
    growth = LineChart(
        "Four outliers: two tests, or all of them",
        lines,
        Axis("objects", log=True),
        Axis("tests on the costliest path"),
        "Pairs on 2^k objects, k binary tests of price 1; δ = n/4 − 1",
    )
    one = found.get(PUBLISHED)
    if one is None:
        return {"synthetic_growth": growth}
    error = [100 * wrong / one["objects"] for wrong in one["errors"]]
    trade = LineChart(
        "Two tests find the class of all but four of 1024 objects",
        [Line("Pairs", list(range(len(error))), error)],
        Axis("tests on the costliest path"),
        Axis("objects in error, %"),
        "Figure 3: error of the greedy tree, stopped at each depth",
    )
    return {"synthetic_growth": growth, "figure3": trade}
