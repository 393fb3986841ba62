"""The nine data sets by numbers: rows, distinct objects, attributes and classes as the paper's
appendix has them.
"""

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
    csv_text,
)
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.paper.study import load_objects, published

WORDS = "datasets of the appendix"


def pieces(paper: MaxCostStudy) -> list[Piece]:
    """Return a piece for every wanted data set of the appendix."""
    return [
        Piece({"chapter": "datasets", "dataset": name}, 0.1)
        for name in published()["datasets"]
        if paper.wants(name)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return the counts of a data set's table as read and as objects.

    as_many : attributes without which the number of objects is the same.
    unlike : objects whose rows have several classes.
    """
    objects = load_objects(services, key["dataset"])
    table, codes = objects.table, objects.codes
    labels = np.zeros((objects.n_objects, table.n_classes), bool)
    labels[objects.object_of_row, table.target.codes] = True
    n = (
        [len(np.unique(np.delete(codes, j, axis=1), axis=0)) for j in range(codes.shape[1])]
        if codes.shape[1] < 50
        else []
    )
    return {
        "rows": table.n_rows,
        "objects": objects.n_objects,
        "attributes": len(table.columns),
        "classes": table.n_classes,
        "complete": table.n_rows
        - int(np.any([column.missing for column in table.columns], axis=0).sum()),
        "unlike": int((labels.sum(axis=1) > 1).sum()),
        "as_many": n.count(objects.n_objects),
    }


def judge(results: Keyed) -> Judgement:
    """Return the verdict: each printed number is met, or differs as its reason predicts; an
    attribute too few is left open.
    """
    order, cells, claims = list(published()["datasets"]), [], []
    found = {
        key["dataset"]: result
        for key, result in sorted(results, key=lambda one: order.index(one[0]["dataset"]))
    }
    for name, one in found.items():
        paper = published()["datasets"][name]
        for what in ("rows", "objects", "attributes", "classes"):
            if what == paper.get("undecided") and one[what] == paper[what] + 1:
                claims.append(_claim_one_attribute_less(paper["called"], paper[what], one))
                continue
            cells.append(
                Cell.judged(
                    WORDS,
                    paper["called"],
                    what,
                    paper[what],
                    one[what],
                    0.0,
                    known=_known_difference(what, one) if what in paper.get("known", ()) else None,
                )
            )
    header = [
        "dataset",
        *(
            f"{what}{part}"
            for what in ("rows", "objects", "attributes", "classes")
            for part in ("", "_published")
        ),
        "objects_of_two_classes",
    ]
    rows = [
        [
            name,
            *(
                x
                for what in ("rows", "objects", "attributes", "classes")
                for x in (one[what], published()["datasets"][name][what])
            ),
            one["unlike"],
        ]
        for name, one in found.items()
    ]
    metrics = {f"objects/{name}": float(one["objects"]) for name, one in found.items()}
    reported: Facts = {
        "cells": cells,
        "claims": claims,
        "tables": {"datasets.csv": csv_text([header, *rows])},
    }
    return Judgement.of_chapter("data sets", {"datasets": ",".join(found)}, metrics, **reported)


def _known_difference(what: str, one: Plain) -> Known:
    """Return what a printed number counts where it is not ours: complete rows, before equal ones
    are one; or the class among the attributes.
    """
    if what == "objects":
        return Known(
            "the number counts the complete rows, before equal ones become one object",
            one["complete"],
            one["complete"],
            "rows of the table",
        )
    return Known(
        "the number counts the class, too",
        one[what] + 1,
        one[what] + 1,
        "columns of the table and the class",
    )


def _claim_one_attribute_less(name: str, printed: int, one: Plain) -> Claim:
    """Return the undecided claim that a data set has one attribute less than its file.

    printed : attributes by the paper; one : what :func:`work` returned.
    """
    evidence = (
        f"the file has {one['attributes']}; which is left out cannot be told: without any one of "
        f"{one['as_many']} there are {one['objects']} objects, too"
    )
    return Claim.judged(f"{name} has {printed} attributes", None, evidence)
