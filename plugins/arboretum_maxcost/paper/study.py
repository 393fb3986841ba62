"""What the chapters of the reproduction share: the paper's numbers, its tables as objects, its
greedy trees, and a check of each.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import attrs
import numpy as np

from arboretum.api import (
    Context,
    Encoded,
    Parts,
    Plain,
    Problem,
    Services,
    Table,
    Tree,
    VerificationError,
    sure,
)


@lru_cache(maxsize=1)
def published() -> Plain:
    """Return the numbers as printed; under ``computed`` those that follow from the text, by hand or
    by an independent program.
    """
    found: Plain = json.loads(
        Path(__file__).with_name("published.json").read_text(encoding="utf-8")
    )
    return found


@lru_cache(maxsize=256)
def parts_of_greedytree(
    services: Services,
    impurity: str,
    fields: tuple[tuple[str, object], ...] = (),
    depth: int | None = None,
) -> Parts:
    """Return the parts of GREEDYTREE with an impurity, to F = 0 at every leaf; cut off at a depth
    where one is given.

    fields : (name, value) of the impurity's fields.
    """
    choices = {
        "method": "greedy",
        "criterion": "worst_case",
        "impurity": impurity,
        "stopping": ["impurity", "standard"],
        "cost": "unit",
    }
    return services.parts(
        choices,
        {
            "stopping.standard.max_depth": depth,
            **{f"impurity.{name}": value for name, value in fields},
        },
    )


@lru_cache(maxsize=2)
def load_objects(
    services: Services, dataset: str, fields: tuple[tuple[str, object], ...] = ()
) -> Encoded:
    """Return a data set as the paper's objects: ten levels, one branch per value, equal objects are
    one with their most common label.

    fields : (name, value) of the data set's own.
    """
    return encode_objects(services, services.component("dataset", dataset, dict(fields)).load(0))


def encode_objects(services: Services, table: Table, **more: object) -> Encoded:
    """Return the rows of a table as the paper's objects."""
    found: Encoded = services.component(
        "encoder", "multiway", {**published()["encoder"], **more}
    ).encode(table, table, raw_thresholds=False, seed=0)
    return found


def pose_problem(objects: Encoded, parts: Parts) -> Problem:
    """Return the problem of growing on these objects."""
    return Problem(objects, sure(parts.cost).price_list(objects, 0), parts)


def grow_tree(objects: Encoded, parts: Parts) -> Tree:
    """Return the tree that the parts grow."""
    return sure(sure(parts.method).fit(pose_problem(objects, parts), Context()).tree)


@attrs.frozen
class Measured:
    """What walking all objects down a tree finds."""

    errors: int
    max_cost: float
    leaves: int
    expected_cost: float

    @staticmethod
    def walk(tree: Tree, objects: Encoded) -> Measured:
        """Walk each of ``objects`` down a tree, and return the counts, each object counting once.
        Raises VerificationError where one does not end at a leaf.
        """
        rest = tree.rest(objects.table)[objects.row_of_object]
        if not tree.is_leaf[rest].all():
            raise VerificationError(
                "verification failed: an object of the table ends at a node that is no leaf"
            )
        paid = tree.price_to[rest]
        return Measured(
            int((tree.label[rest] != objects.label).sum()),
            float(paid.max()),
            len(np.unique(rest)),
            float(paid.mean()),
        )


def verify_measures(tree: Tree, objects: Encoded, errors: float, max_cost: float) -> Tree:
    """Return the tree itself, verified.  Raises VerificationError where its objects do not find
    that many ``errors`` and that maximum path cost ``max_cost``.
    """
    found = Measured.walk(tree, objects)
    if (found.errors, found.max_cost) != (round(errors), max_cost):
        said = (
            f"reported {errors:g} errors at max cost {max_cost:g}, its objects find "
            f"{found.errors} at {found.max_cost:g}"
        )
        raise VerificationError(f"verification failed: {said}")
    return tree
