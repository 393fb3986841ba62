"""The worked example: misclassification cannot tell split A from split B, entropy and Gini
prefer B.
"""

from collections.abc import Mapping

import numpy as np

from arboretum.api import (
    Cell,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Known,
    Piece,
    Plain,
    Services,
    Table,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import grow, nominal_column, published, rounded_cell, table_of

DIGIT, CLOSE = 0.01, 1e-9
"""Last digit of what a slide prints, and how far a number that follows from the text may be off
by rounding.
"""
SLIDE, TEXT = "worked example, as the slide prints it", "worked example, from the text"


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece, the whole example."""
    return [Piece({"chapter": "impurity"}, 0.05)]


def table() -> Table:
    """Return 24 objects, half of each class: A cuts them in halves, B in three quarters and a
    quarter.
    """
    objects = published()["worked_example"]["objects"]
    a, b = (
        [np.repeat([0, 1], [side[k] for side in objects[name]]) for k in (0, 1)]
        for name in ("A", "B")
    )
    return table_of(
        "worked example",
        [nominal_column("A", np.concatenate(a)), nominal_column("B", np.concatenate(b))],
        np.repeat([0, 1], 12),
    )


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return what the example gives: nothing of ``key`` and ``seed`` is read.

    "splits": impurity → "A" and "B" → its gain and the impurities of its parts, and "grown", the
    split that grows; "variance" and "squared_pairs": the slide's impurity of three numbers.
    """
    whole = table()
    found: dict[str, Facts] = {}
    for impurity in published()["worked_example"]["computed"]:
        found[impurity] = {}
        for j, name in enumerate("AB"):
            alone = Table(name, whole.columns[j : j + 1], whole.target)
            tree = grow(services, alone, "cart", impurity=impurity, encoder="multiway")
            found[impurity][name] = {
                "gain": float(tree.score[0]),
                "parts": tree.impurity[1:].tolist(),
            }
        grown = grow(
            services,
            whole,
            "cart",
            {"stopping.standard.max_depth": 1},
            impurity=impurity,
            encoder="multiway",
        )
        found[impurity]["grown"] = grown.rule(0).columns[0]
    y = np.array(published()["worked_example"]["regression"]["values"], float)
    moments = np.array([len(y), y.sum(), (y * y).sum()])
    return {
        "splits": found,
        **{
            name: float(services.component("impurity", name).value(moments))
            for name in ("variance", "squared_pairs")
        },
    }


def judge(results: Keyed) -> Judgement:
    """Return every printed number, those that follow from the text, and the slide's sentences."""
    found = results[0][1]
    return Judgement.of_chapter(
        "worked impurity example",
        {"objects": 24},
        {},
        cells=_cells(found),
        claims=_claims(found["splits"]),
    )


def _cells(found: Plain) -> list[Cell]:
    """Return the numbers that the slide prints, then those that follow from the text.

    found : what :func:`work` returned.
    """
    paper = published()["worked_example"]
    printed, exact = [], []
    for impurity, own in found["splits"].items():
        a, b = own["A"], own["B"]
        ours = {
            "Im of A's halves": a["parts"][0],
            "Im of B's larger part": b["parts"][0],
            "I(A)": a["gain"],
            "I(B)": b["gain"],
        }
        known = _known_misprints(ours) if impurity == "gini" else {}
        printed += [
            rounded_cell(
                SLIDE,
                impurity,
                what,
                paper["slide"][impurity][what],
                ours[what],
                DIGIT,
                known=known.get(what),
            )
            for what in ours
        ]
        exact += [
            rounded_cell(TEXT, impurity, what, x, ours[what], CLOSE, recomputed=True)
            for what, x in paper["computed"][impurity].items()
        ]
    for what, name in (("variance", "variance"), ("squared_pairs", "Σ ½ (y_i − y_j)²")):
        exact.append(
            rounded_cell(
                TEXT,
                "values 1, 2, 6",
                name,
                paper["regression"][what],
                found[what],
                CLOSE,
                recomputed=True,
            )
        )
    return [*printed, *exact]


def _claims(splits: Plain) -> list[Claim]:
    """Return the slide's sentences on both splits.   splits : as :func:`work` returns them."""
    gains = {name: (own["A"]["gain"], own["B"]["gain"]) for name, own in splits.items()}
    words = "gains of A and B: " + ", ".join(
        f"{impurity} {a:.4f} and {b:.4f}" for impurity, (a, b) in gains.items()
    )
    grown = {impurity: own["grown"] for impurity, own in splits.items()}
    prefer = all(
        gains[name][0] < gains[name][1] and grown[name] == "B" for name in ("entropy", "gini")
    )
    return [
        Claim.judged(
            "misclassification error cannot tell A from B",
            abs(np.subtract(*gains["misclassification"])) < CLOSE,
            words,
        ),
        Claim.judged(
            "entropy and Gini prefer B, and grow it",
            prefer,
            ", ".join(f"{name} grows {split}" for name, split in grown.items()),
        ),
        Claim.judged(
            "I(B) = 0.5 − 0.75 · 0.4 = 0.16 (Gini)",
            abs(0.5 - 0.75 * 0.4 - 0.16) < DIGIT / 2,
            "as written it is 0.2; with 4/9 in the place of 0.4 it is 1/6",
            "4/9 is printed to one digit, and 1/6 is cut off after two",
        ),
    ]


def _known_misprints(ours: Mapping[str, float]) -> dict[str, Known]:
    """Return what the slide would print for the reason that is given, computed from our number.

    ours : what is printed → our number; the result has the two that are misprinted for Gini.
    """
    one, cut = round(ours["Im of B's larger part"], 1), int(100 * ours["I(B)"]) / 100
    return {
        "Im of B's larger part": Known(
            "4/9 = 0.444 is printed to one digit", one, one, "our number to one digit"
        ),
        "I(B)": Known(
            "1/6 = 0.1667 is cut off after two digits, not rounded", cut, cut, "our number, cut off"
        ),
    }
