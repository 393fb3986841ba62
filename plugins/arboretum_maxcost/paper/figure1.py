"""Figure 1: two tests of 60 objects, and which of them the functions F prefer.

The appendix computes hinged Pairs without the −α² of its equation (10), and so finds t1; by (10)
there is a tie.  Both are done here.
"""

from fractions import Fraction

import numpy as np

from arboretum.api import (
    Cell,
    Claim,
    Column,
    ColumnKind,
    Facts,
    Judgement,
    Key,
    Keyed,
    Known,
    Piece,
    Plain,
    Services,
    Table,
    Target,
    Task,
    csv_text,
)
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.paper.study import (
    Measured,
    encode_objects,
    grow_tree,
    parts_of_greedytree,
    published,
)

HINGED = {
    "hinged Pairs": {"subtract_square": True},
    "hinged Pairs without −α²": {"subtract_square": False},
}
STEP = 0.5
"""Between the values of α at which equation (10) is looked at."""


def pieces(paper: MaxCostStudy) -> list[Piece]:
    """Return one piece: both tests under all functions F."""
    return [Piece({"chapter": "figure1"}, 0.01)]


def functions_compared() -> dict[str, tuple[str, Facts]]:
    """Return the functions F of the figure: name → impurity and its fields."""
    hinged = {
        name: ("hinged_pairs", {"alpha": published()["figure1"]["hinged"]["alpha"], **fields})
        for name, fields in HINGED.items()
    }
    return (
        {"Pairs": ("pairs", {})}
        | hinged
        | {f"Powers({l})": ("powers", {"l": l}) for l in published()["powers"][1:]}
    )


def table_of_figure_1() -> Table:
    """Return the table of sixty rows: t1 as drawn, and t2 half and half within each of its
    cells.
    """
    (a, b), (c, d) = published()["figure1"]["t1"]
    rows = [
        (t1, i % 2, label)
        for t1, label, n in ((0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d))
        for i in range(n)
    ]
    t1, t2, label = np.array(rows, np.int32).T
    columns = tuple(
        Column(name, ColumnKind.categorical, values, ("0", "1"))
        for name, values in (("t1", t1), ("t2", t2))
    )
    return Table(
        "figure1", columns, Target("class", Task.classification, codes=label, classes=("1", "2"))
    )


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return, per function F of the root and of the outcomes, 1/R of both tests (whole numbers),
    the test that is grown and its errors.

    tie : values of α at which (10) gives both tests the same R.
    first : those at which t1 has the smaller one.
    """
    objects, found = encode_objects(services, table_of_figure_1(), coalesce="none"), {}
    for name, (impurity, fields) in functions_compared().items():
        tree = grow_tree(objects, parts_of_greedytree(services, impurity, tuple(fields.items()), 1))
        gains = _decreases_of_tests(services, impurity, fields)
        found[name] = {
            **gains,
            "chosen": tree.rule(0).columns[0],
            "errors": Measured.walk(tree, objects).errors,
        }
    alphas = np.arange(0.0, 15.0 + STEP, STEP).tolist()
    hinged = {
        alpha: _decreases_of_tests(services, "hinged_pairs", {"alpha": alpha})["gains"]
        for alpha in alphas
    }
    return {
        "functions": found,
        "tie": [alpha for alpha, (t1, t2) in hinged.items() if t1 == t2 > 0],
        "first": [alpha for alpha, (t1, t2) in hinged.items() if t1 > t2],
        "leaf": [alpha for alpha, (t1, t2) in hinged.items() if t1 == t2 == 0],
    }


def _decreases_of_tests(services: Services, impurity: str, fields: Plain) -> Facts:
    """Return "F" of the root, that of the outcomes of "t1" and "t2", and as "gains" the least
    decrease by an outcome of either test: the 1/R of price 1.

    impurity, fields : F's component, and its fields.
    """
    drawn, value = published()["figure1"], services.component("impurity", impurity, fields).value
    whole = float(value(np.array(drawn["classes"], float)))
    outcomes = {t: value(np.array(drawn[t], float)) for t in ("t1", "t2")}
    return {
        "F": whole,
        **{t: own.tolist() for t, own in outcomes.items()},
        "gains": [whole - float(own.max()) for own in outcomes.values()],
    }


def judge(results: Keyed) -> Judgement:
    """Return the verdict on every printed number; R by its denominator, a whole number."""
    found = results[0][1]
    own = found["functions"]
    rows = [
        [
            name,
            *(f"{x:g}" for x in (one["F"], *one["t1"], *one["t2"], *one["gains"])),
            one["chosen"],
            one["errors"],
        ]
        for name, one in own.items()
    ]
    header = (
        "function F t1_first t1_second t2_first t2_second inverse_R_t1 inverse_R_t2 chosen errors"
    )
    metrics = {f"errors/{name}": float(one["errors"]) for name, one in own.items()}
    return Judgement.of_chapter(
        "Figure 1",
        {"objects": 60},
        metrics,
        cells=_cells(own),
        claims=_claims(found),
        tables={"figure1.csv": csv_text([header.split(), *rows])},
    )


def _cells(own: Plain) -> list[Cell]:
    """Return the numbers of Figure 1, and those that follow from the text.

    own : function F → its numbers, as :func:`work` returns them.
    """
    paper, computed, (by_10, without) = published()["figure1"], published()["computed"], HINGED
    hinged = paper["hinged"]
    return [
        *_compare_with_print("Figure 1", "Pairs", own["Pairs"], paper["pairs"]),
        *_compare_with_print("Figure 1", without, own[without], hinged),
        *_compare_with_print("Figure 1", by_10, own[by_10], hinged, own[without]),
        *_compare_with_print(
            "Figure 1, from the text", by_10, own[by_10], computed["figure1_equation_10"]
        ),
        *(
            c
            for l, r in computed["figure1_powers"].items()
            for c in _compare_with_print(
                "Figure 1, from the text", f"Powers({l})", own[f"Powers({l})"], {"R": r}
            )
        ),
        *(
            Cell.judged(
                "Figure 1",
                name,
                f"errors after {one['chosen']}",
                paper["errors"][one["chosen"]],
                one["errors"],
                0.0,
            )
            for name, one in own.items()
            if one["gains"][0] != one["gains"][1]
        ),
    ]


def _claims(found: Plain) -> list[Claim]:
    """Return which test the figure's functions prefer.   found : what :func:`work` returned."""
    own, paper, computed = found["functions"], published()["figure1"], published()["computed"]
    _, without = HINGED
    claims = [
        Claim.judged(
            f"Figure 1: {name} prefers {test}", own[name]["chosen"] == test, _evidence_of(own[name])
        )
        for name, test in (
            ("Pairs", paper["pairs"]["chosen"]),
            (without, paper["hinged"]["chosen"]),
        )
    ]
    tie_from, leaf_from = (
        computed["figure1_equation_10"][name] for name in ("tie_from", "leaf_from")
    )
    tie, leaf = (bool(found[name]) and min(found[name]) for name in ("tie", "leaf"))
    claims.append(
        Claim.judged(
            f"Figure 1: by equation (10) no α prefers t1; t2 below {tie_from:g}, a tie from "
            "there on",
            not found["first"] and (tie, leaf) == (tie_from, leaf_from),
            f"α = 0, {STEP:g}, … 15: t1 at {found['first'] or 'none'}, a tie from {tie:g} "
            f"on, F = 0 from {leaf:g} on",
        )
    )
    return claims


def _compare_with_print(
    title: str,
    name: str,
    ours: Plain,
    paper: Plain,
    known: Plain | None = None,
) -> list[Cell]:
    """Return a cell for each printed number of a function F.

    ours, paper : F of the root and of outcomes, and 1/R.
    known : of the form in which the appendix computes; it predicts what is printed.
    """
    reason = "the appendix computes it without −α²"
    source = "the same function with subtract_square=false"
    other = known or ours
    pairs = [("F", paper["F"], ours["F"], other["F"])] if "F" in paper else []
    pairs += [
        (f"F of {t}, outcome {i + 1}", value, ours[t][i], other[t][i])
        for t in ("t1", "t2")
        for i, value in enumerate(paper.get(t, ()))
    ]
    pairs += [
        (f"1/R(t{i + 1})", float(1 / Fraction(text)), ours["gains"][i], other["gains"][i])
        for i, text in enumerate(paper["R"])
    ]
    return [
        Cell.judged(
            title,
            name,
            column,
            value,
            own,
            0.0,
            known=Known(reason, predicted, predicted, source) if known else None,
            recomputed="text" in title,
        )
        for column, value, own, predicted in pairs
    ]


def _evidence_of(one: Plain) -> str:
    return (
        f"R = 1/{one['gains'][0]:g} for t1 and 1/{one['gains'][1]:g} for t2; grown with "
        f"{one['chosen']}, {one['errors']} of 60 wrong"
    )
